package binding_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// see has the binding of a template say what it is made of, as the detector does.
func (w *world) see(t *testing.T, template *unstructured.Unstructured, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	NewWithT(t).Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.TemplateFingerprintAnnotation, bindings.MadeOf(template, ""))
		b.Spec.Resource.ResourceVersion = template.GetResourceVersion()
	})
}

// TestAnEditThatTheDetectorHasNotSeenWaitsForIt has a hub upgraded while somebody edits a template: the edit may come with a strategy, of
// which the binding does not say anything yet.
func TestAnEditThatTheDetectorHasNotSeenWaitsForIt(t *testing.T) {
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{cluster: api, hub: api.Client(t)}
	w := s.world(t, "a", "b")
	web := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	stop := w.run(t, "v1")
	b := w.create(t, web, "a")
	w.see(t, web, b)
	has := func(members ...string) func() map[string]string {
		return func() map[string]string { return w.has(t, web, members...) }
	}
	g.Eventually(has("a"), stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27"}))
	stop()

	change(t, w, web, image("nginx:2"))
	w.run(t, "v2")
	last := builder.MakeDeployment(w.namespace, "last").Replicas(1).Obj()
	w.create(t, last, "b")
	g.Eventually(func() []string { return w.works(t, contract.WorkName("Deployment", w.namespace, "last")) }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"b"}))
	g.Consistently(has("a"), stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27"}))

	// Scaling and moves do not wait.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Replicas, b.Spec.Clusters[0].Replicas = 3, 3
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.member("b"), Replicas: 3})
	})
	g.Eventually(has("a", "b"), stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27", "b": "nginx:2"}))
	g.Eventually(func() any { return manifest(t, w.work(t, "a", web), "spec", "replicas") }, stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(3))
	g.Expect(has("a")()).To(Equal(map[string]string{"a": "nginx:1.27"}))

	w.see(t, web, b)
	g.Eventually(has("a", "b"), stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2", "b": "nginx:2"}))
}
