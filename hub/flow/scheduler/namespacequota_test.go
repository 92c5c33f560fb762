package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/stagetest"
)

// leaves is what a cluster reports in which the quotas of this test's namespace leave room for so many pods.
func (w *world) leaves(pods int64) func(*clusterv1alpha1.ClusterStatus) {
	return func(s *clusterv1alpha1.ClusterStatus) {
		s.NamespaceQuotas = []clusterv1alpha1.NamespaceQuota{{
			Namespace: w.namespace, Free: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)},
		}}
	}
}

// TestAQuotaInAMemberIsNotExceededByABurst has 3 applications of 2 replicas each for 4 pods that
// may be in the namespace. What was assigned and is not reported yet counts.
func TestAQuotaInAMemberIsNotExceededByABurst(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	c := w.join(t, "tight-1", "tight", cpus("50"), w.leaves(4))
	t.Cleanup(func() { g.Expect(w.hub.Delete(context.Background(), c)).To(Succeed()) })
	bindings := make([]*workv1alpha2.ResourceBinding, 3)
	for i := range bindings {
		bindings[i] = w.byRoom(fmt.Sprintf("tight-%d", i), "tight")
		g.Expect(w.hub.Create(t.Context(), bindings[i])).To(Succeed())
	}
	verdicts := func() []string {
		var out []string
		for _, b := range bindings {
			out = append(out, summary(read(t, w, b)))
		}
		return out
	}
	g.Eventually(verdicts, stagetest.Timeout, stagetest.Poll).Should(ConsistOf("tight-1 Success", "tight-1 Success", "Unschedulable"))
	g.Consistently(verdicts, stagetest.Quiet, stagetest.Poll).Should(ContainElement("Unschedulable"))

	stagetest.ChangeStatus(t, w.hub, c, func() { w.leaves(6)(&c.Status) }) // somebody raised it
	g.Eventually(verdicts, stagetest.Timeout, stagetest.Poll).Should(HaveEach("tight-1 Success"))
}
