package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

func TestLabelsSelectTemplatesAlsoLater(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	early := builder.MakeConfigMap(ns, "early", "a", "b").Label("tier", "web").Obj()
	late := builder.MakeConfigMap(ns, "late", "a", "b").Obj()
	s.create(t, early, late, builder.MakePolicy(ns, "web").SelectLabel("v1", "ConfigMap", "tier", "web").Clusters("edge-2").Obj())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", early)
		g.Expect(s.get(t, s.member("edge-2"), late)).To(Satisfy(apierrors.IsNotFound))
	})
	s.update(t, late, func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"tier": "web"}) })
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-2", late) })
}

func TestClusterScopedTemplatesGoOutByAClusterPolicy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	role := builder.MakeClusterRole("integration:reader").Obj()
	policy := builder.MakePolicy("", "integration-reader").
		Select("rbac.authorization.k8s.io/v1", "ClusterRole", role.GetName()).Clusters("edge-1", "edge-2").ClusterObj()
	s.create(t, role, policy)
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", role)
		s.inMember(t, g, "edge-2", role)
		binding := &workv1alpha2.ClusterResourceBinding{}
		key := client.ObjectKey{Name: contract.BindingName("ClusterRole", role.GetName())}
		g.Expect(s.hub.Client(t).Get(t.Context(), key, binding)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(binding.Status.Conditions, workv1alpha2.BindingFullyApplied)).To(BeTrue())
	})
	g.Expect(s.hub.Client(t).Delete(t.Context(), role.DeepCopy())).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(s.get(t, s.member("edge-1"), role)).To(Satisfy(apierrors.IsNotFound))
		g.Expect(s.get(t, s.member("edge-2"), role)).To(Satisfy(apierrors.IsNotFound))
	})
}

func TestAPolicyThatMovesATemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	policy := builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj()
	s.create(t, template, policy)
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-1", template) })

	moved := policy.DeepCopy()
	moved.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}
	patch := client.MergeFrom(policy)
	g.Expect(s.hub.Client(t).Patch(t.Context(), moved, patch)).To(Succeed())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", template)
		g.Expect(s.get(t, s.member("edge-1"), template)).To(Satisfy(apierrors.IsNotFound))
	})
}

func TestReplicasAreDividedByWeight(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Replicas(6).Obj()
	s.create(t, template, builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").
		Clusters("edge-1", "edge-2").Weight("edge-1", 2).Weight("edge-2", 1).Obj())
	eventually(t, func(g Gomega) {
		g.Expect(integer(s.inMember(t, g, "edge-1", template), "spec", "replicas")).To(BeEquivalentTo(4))
		g.Expect(integer(s.inMember(t, g, "edge-2", template), "spec", "replicas")).To(BeEquivalentTo(2))
		g.Expect(integer(s.onHub(t, g, template), "status", "readyReplicas")).To(BeEquivalentTo(6))
	})
}

func TestImagesAreOverridden(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Replicas(0).Obj()
	s.create(t, template,
		builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").Obj(),
		builder.MakeOverride(ns, "web").Select("apps/v1", "Deployment", "web").Image("edge-2", policyv1alpha1.ImageRegistry, "registry.edge-2.example").Obj())
	eventually(t, func(g Gomega) {
		g.Expect(image(g, s.inMember(t, g, "edge-1", template))).To(Equal("nginx:1.27"))
		g.Expect(image(g, s.inMember(t, g, "edge-2", template))).To(Equal("registry.edge-2.example/nginx:1.27"))
	})
}
