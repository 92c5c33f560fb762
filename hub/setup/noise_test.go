package setup

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/logging"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// logged keeps the lines of a log.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// lines returns the lines that contain something.
func (l *logged) lines(something string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.SplitSeq(l.all.String(), "\n") {
		if strings.Contains(line, something) {
			out = append(out, line)
		}
	}
	return out
}

// TestAHealthyHubRunsAllStagesLogsNoErrorAndStops creates and deletes kinds and namespaces while a hub runs. It is not parallel, because
// the log is that of the process.
func TestAHealthyHubRunsAllStagesLogsNoErrorAndStops(t *testing.T) {
	g := NewWithT(t)
	log := &logged{}
	logger, err := logging.New(log, logging.FormatText, 1)
	g.Expect(err).NotTo(HaveOccurred())
	logging.Install(logger)
	hub := cluster.Shared(t, cluster.Options{})
	g.Expect(apiserver.Install(t.Context(), hub.Config, apiserver.Options{})).To(Succeed())
	o := options()
	o.AllEvents = true
	ready := make(chan struct{})
	o.Ready = func() { close(ready) }
	mgr, err := New(t.Context(), hub.Config, o)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	ended := sync.OnceFunc(func() {
		cancel()
		g.Eventually(stopped).WithTimeout(waitTimeout).Should(Receive(BeNil()))
	})
	defer ended() // others work on the same API then
	g.Eventually(ready).WithTimeout(waitTimeout).Should(BeClosed())
	c := hub.Client(t)
	create := func(obj client.Object) {
		t.Helper()
		g.Expect(c.Create(t.Context(), obj)).To(Succeed())
	}
	gone := func(obj client.Object) {
		t.Helper()
		g.Eventually(func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj) }).WithTimeout(waitTimeout).Should(Satisfy(apierrors.IsNotFound))
	}
	bound := func(namespace, name string) {
		t.Helper()
		g.Eventually(func() error {
			return c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &workv1alpha2.ResourceBinding{})
		}).WithTimeout(waitTimeout).Should(Succeed())
	}
	create(builder.MakeCluster("edge-1").Obj())

	// A policy names a kind before it is defined, and still after its definition was deleted.
	wide := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "shops"}}
	wide.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "example.com/v1", Kind: "Shop"}}
	create(wide)
	for round := range 2 {
		definition := builder.MakeDefinition("example.com", "v1", "Shop")
		create(definition)
		namespace := fmt.Sprintf("team-%d", round)
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		own := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"}}
		own.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap"}}
		own.Spec.PropagateDeps = true
		create(own)
		for i := range 5 {
			create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("settings-%d", i)}})
		}
		shop := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"namespace": namespace, "name": "web"},
		}}
		g.Eventually(func() error { return c.Create(t.Context(), shop.DeepCopy()) }).WithTimeout(waitTimeout).Should(Succeed(), "once it is served")
		bound(namespace, "web-shop")
		for i := range 5 {
			bound(namespace, fmt.Sprintf("settings-%d-configmap", i))
		}

		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		g.Expect(c.Delete(t.Context(), ns)).To(Succeed())
		gone(ns)
		before := len(log.lines("not served any more"))
		g.Expect(c.Delete(t.Context(), definition)).To(Succeed())
		gone(definition)
		g.Eventually(func() int { return len(log.lines("not served any more")) }).WithTimeout(waitTimeout).Should(BeNumerically(">", before), "the hub has noticed")
	}
	g.Expect(log.lines("\tERROR\t")).To(BeEmpty())
	g.Expect(stopped).NotTo(Receive(), "it goes on until it is stopped")
	ended()
}
