package dependencies_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/dependencies"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// behind runs another hub with a stale cache. It returns a count of the hub's live reads.
func (w *world) behind(t *testing.T, path string, shows func(*cache.Options)) *atomic.Int64 {
	t.Helper()
	g, read := NewWithT(t), &atomic.Int64{}
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	cfg := stagetest.Intercept(c.Config, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, path) {
			read.Add(1)
		}
		return nil, nil
	})
	mgr := stagetest.Manager(t, cfg, func(o *manager.Options) {
		o.Cache.DefaultTransform, o.Cache.ByObject = cache.TransformStripManagedFields(), map[client.Object]cache.ByObject{}
		shows(&o.Cache)
	})
	g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	g.Expect(dependencies.Register(mgr, dependencies.Deps{
		Exclusions: selector.NewExclusions("karmada-es-", nil, selector.SkippedKinds{}), Interpreter: native.New(),
		Informers: watchset.NewMetadataInformers(mgr.GetCache()), Events: func(eventsink.Event) {}, Clock: clock.RealClock{},
	})).To(Succeed())
	stagetest.Run(t, mgr)
	return read
}

// absent makes the cache of a hub show none of the objects that a function selects: they are moved to another namespace.
func absent(which func(client.Object) bool) cache.ByObject {
	return cache.ByObject{Transform: func(in any) (any, error) {
		if obj, ok := in.(client.Object); ok && which(obj) {
			obj.SetName("not-here-yet")
			obj.SetLabels(nil)
		}
		return in, nil
	}}
}

func TestHubWithoutDependencyInCacheDetachesNothing(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"))
	w.deployment(t, "web", "settings")
	settings := w.attached(t, w.namespace, "settings-configmap")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	before := w.attachedBinding(t, "settings-configmap")
	w.end()

	read := w.behind(t, "/namespaces/"+w.namespace+"/configmaps/settings", func(o *cache.Options) {
		o.DefaultTransform = absent(func(obj client.Object) bool {
			_, metadata := obj.(*metav1.PartialObjectMetadata)
			return metadata && obj.GetNamespace() == w.namespace && obj.GetName() == "settings"
		}).Transform
	})
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "the reconcile is retried")
	after := w.attachedBinding(t, "settings-configmap")
	g.Expect(after.UID).To(Equal(before.UID))
	g.Expect(after.DeletionTimestamp).To(BeNil())
	g.Expect(after.Spec.RequiredBy).To(HaveLen(1))
}

// edit makes a workload mount one ConfigMap instead of those that it mounted.
func (w *world) edit(t *testing.T, workload *unstructured.Unstructured, b *workv1alpha2.ResourceBinding, configMap string) {
	t.Helper()
	change(t, w, workload, func(u *unstructured.Unstructured) {
		volume := map[string]any{"name": configMap, "configMap": map[string]any{"name": configMap}}
		NewWithT(t).Expect(unstructured.SetNestedSlice(u.Object, []any{volume}, "spec", "template", "spec", "volumes")).To(Succeed())
	})
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = workload.GetResourceVersion() })
}

func TestDetachingDoesNotReadOtherDependenciesLive(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"), w.configMap("more"))
	web, b := w.deployment(t, "web", "settings", "more")
	more := w.attached(t, w.namespace, "more-configmap")
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	g.Eventually(w.attached(t, w.namespace, "settings-configmap"), stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	w.end()
	w.edit(t, web, b, "settings")

	read := w.behind(t, "/namespaces/"+w.namespace+"/configmaps/settings", func(*cache.Options) {})
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(BeNil())
	g.Expect(read.Load()).To(BeZero())
}

func TestHubWithStaleWorkloadDetachesNothing(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"))
	_, b := w.deployment(t, "web", "settings")
	g.Eventually(w.attached(t, w.namespace, "settings-configmap"), stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	w.end()

	// Before, it had no propagateDeps.
	read := w.behind(t, "/namespaces/"+w.namespace+"/resourcebindings/"+b.Name, func(o *cache.Options) {
		o.ByObject[&workv1alpha2.ResourceBinding{}] = cache.ByObject{Transform: func(in any) (any, error) {
			if other, ok := in.(*workv1alpha2.ResourceBinding); ok && other.UID == b.UID {
				other.Spec.PropagateDeps = false
			}
			return in, nil
		}}
	})
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "the reconcile is retried")
	after := w.attachedBinding(t, "settings-configmap")
	g.Expect(after.DeletionTimestamp).To(BeNil())
	g.Expect(after.Spec.RequiredBy).To(HaveLen(1))
}

func TestNamespaceStaysInClusterMissingFromCache(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	member := w.namespace + "-member"
	w.create(t, builder.MakeCluster(member).Obj())
	ns := &corev1.Namespace{}
	g.Expect(w.hub.Get(t.Context(), types.NamespacedName{Name: w.namespace}, ns)).To(Succeed())
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "web"}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: member}}
	w.create(t, b)
	follows := w.attached(t, "", w.namespace+"-namespace")
	g.Eventually(follows, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"": {member}}))
	w.end()
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())

	read := w.behind(t, "/clusters/"+member, func(o *cache.Options) {
		o.ByObject[&clusterv1alpha1.Cluster{}] = absent(func(obj client.Object) bool { return obj.GetName() == member })
	})
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "the reconcile is retried")
	g.Expect(follows()).To(Equal(map[string][]string{"": {member}}))
}

// attachedBinding returns the present state of a binding.
func (w *world) attachedBinding(t *testing.T, name string) *workv1alpha2.ResourceBinding {
	t.Helper()
	b := &workv1alpha2.ResourceBinding{}
	NewWithT(t).Expect(w.hub.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, b)).To(Succeed())
	return b
}
