package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// TestANamespaceReachesNoOtherClustersThanItMayUse restricts a namespace to one of two clusters: its objects leave the
// other one, with their dependencies, and no policy can propagate them there.
func TestANamespaceReachesNoOtherClustersThanItMayUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	hub := s.hub.Client(t)
	g.Expect(hub.Patch(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}},
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"tenant":"fish"}}}`)))).To(Succeed())
	ns := s.namespace(t)
	mayUse := func(text string) {
		t.Helper()
		body := `{"metadata":{"annotations":{"` + contract.ClustersAnnotation + `":` + text + `}}}`
		g.Expect(hub.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
	}
	there := func(g Gomega, member string, objects ...*unstructured.Unstructured) {
		for _, obj := range objects {
			s.inMember(t, g, member, obj)
		}
	}
	notThere := func(g Gomega, member string, objects ...*unstructured.Unstructured) {
		for _, obj := range objects {
			g.Expect(apierrors.IsNotFound(s.get(t, s.member(member), obj))).To(BeTrue(), "%s in %s", obj.GetName(), member)
		}
	}
	scheduled := func(g Gomega, obj *unstructured.Unstructured) metav1.Condition {
		c := meta.FindStatusCondition(s.binding(t, g, obj).Status.Conditions, workv1alpha2.BindingScheduled)
		g.Expect(c).NotTo(BeNil())
		return *c
	}

	settings := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	web := builder.MakeDeployment(ns, "web").Set([]any{map[string]any{
		"name": "web", "image": "registry.example.com/web:1",
		"envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "settings"}}},
	}}, "spec", "template", "spec", "containers").Obj()
	policy := builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").Obj()
	policy.Spec.PropagateDeps = true
	policy.Spec.PreserveResourcesOnDeletion = new(true) // nothing is preserved where the namespace is not allowed any more
	s.create(t, settings, web, policy)
	eventually(t, func(g Gomega) {
		there(g, "edge-1", web, settings)
		there(g, "edge-2", web, settings)
	})

	mayUse(`"tenant=fish"`)
	eventually(t, func(g Gomega) {
		notThere(g, "edge-2", web, settings)
		c := scheduled(g, web)
		g.Expect(c.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(c.Message).To(And(ContainSubstring("Left out: edge-2"), ContainSubstring("namespace "+ns), ContainSubstring("tenant=fish")))
	})
	there(g, "edge-1", web, settings)

	// Neither its own policy, nor a cluster-scoped one, nor a binding written by hand reaches another cluster.
	named, wide, written := builder.MakeConfigMap(ns, "named").Obj(), builder.MakeConfigMap(ns, "wide").Obj(), builder.MakeConfigMap(ns, "written").Obj()
	everywhere := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	everywhere.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "wide"}}
	byHand := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: contract.BindingName("ConfigMap", "written")}}
	byHand.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "written"}
	byHand.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1"}, {Name: "edge-2"}}
	s.create(t, named, wide, written, byHand, everywhere, builder.MakePolicy(ns, "named").Select("v1", "ConfigMap", "named").Clusters("edge-2").Obj())
	eventually(t, func(g Gomega) {
		there(g, "edge-1", wide, written)
		g.Expect(scheduled(g, wide).Message).To(ContainSubstring("Left out: edge-2"))
		c := scheduled(g, named)
		g.Expect(c.Reason).To(Equal(workv1alpha2.ReasonNoClusterFit))
		g.Expect(c.Message).To(ContainSubstring("1 cluster(s) may not be used: namespace " + ns))
	})
	NewWithT(t).Consistently(func(g Gomega) { notThere(g, "edge-2", named, wide, written) }).WithTimeout(quiet).WithPolling(poll).Should(Succeed())

	mayUse("null")
	eventually(t, func(g Gomega) {
		there(g, "edge-2", web, settings, named, wide)
		g.Expect(scheduled(g, web).Message).NotTo(ContainSubstring("Left out"))
	})
}
