package binding_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestTwoHundredClusters counts the writes for a template that all clusters accept, and for one that none accepts.
func TestTwoHundredClusters(t *testing.T) {
	const many = 200
	s := start(t)
	g, w := NewWithT(t), s.world(t)
	members := make([]string, many)
	var wait sync.WaitGroup
	for i := range members {
		members[i] = fmt.Sprintf("m%03d", i)
	}
	for part := range 8 {
		wait.Go(func() {
			for i := part; i < many; i += 8 {
				w.join(t, members[i])
			}
		})
	}
	wait.Wait()

	// The accepted one costs one write per cluster, however often the binding is reconciled while the cache is stale.
	good := builder.MakeConfigMap(w.namespace, "good", "k", "v").Obj()
	b := w.create(t, good, members...)
	began := time.Now()
	for i := range 10 {
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.RescheduleTriggeredAt = new(metav1.NewTime(time.Unix(int64(i+1), 0)))
		})
	}
	g.Eventually(func() int { return len(w.works(t, "good-")) }, "1m", "50ms").Should(Equal(many))
	t.Logf("%d Works in %v", many, time.Since(began).Round(time.Millisecond))
	g.Consistently(func() int { return len(w.works(t, "good-")) }, stagetest.Quiet, "50ms").Should(Equal(many))
	wrote := w.wrote()
	g.Expect(wrote).To(HaveLen(many), "no Work is created twice")
	g.Expect(wrote).To(HaveEach("POST"))

	// The other one is small on the hub, but as JSON in a Work it is six times as large, which is too large for any cluster. A try costs
	// one batch, not one write per cluster.
	bad := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "bad", "namespace": w.namespace},
		"data":     map[string]any{"k": strings.Repeat("\x01", 300_000)},
	}}
	w.create(t, bad, members...)
	g.Eventually(func() []string { return w.told("bad") }, "1m", stagetest.Poll).Should(ContainElement(
		And(HavePrefix("Warning SyncWorkFailed: "), ContainSubstring("196 other clusters"), ContainSubstring("larger than the hub can store"))))
	tried := len(w.wrote())
	t.Logf("%d requests for a template that no cluster of %d can have", tried, many)
	g.Expect(tried).To(BeNumerically("<=", 8*4))
	g.Expect(w.works(t, "bad-")).To(BeEmpty())
}
