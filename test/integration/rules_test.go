package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/test/builder"
)

// orchards returns a kind without an interpreter.
func orchards() *apiextensionsv1.CustomResourceDefinition {
	out := builder.MakeDefinition("farm.example.com", "v1", "Orchard")
	out.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	return out
}

// orchardRules returns their customization.
func orchardRules() *configv1alpha1.ResourceInterpreterCustomization {
	script := func(text string) *configv1alpha1.LuaRule { return &configv1alpha1.LuaRule{LuaScript: text} }
	return &configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: "orchards"},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target: configv1alpha1.CustomizationTarget{APIVersion: "farm.example.com/v1", Kind: "Orchard"},
			Customizations: configv1alpha1.CustomizationRules{
				ReplicaResource: script(`function GetReplicas(o) return o.spec.trees end`),
				ReplicaRevision: script(`function ReviseReplica(o, n) o.spec.trees = n return o end`),
				Retention:       script(`function Retain(desired, live) desired.spec.gardener = live.spec.gardener return desired end`),
				StatusReflection: script(`function ReflectStatus(live)
					if live.status == nil then return {} end
					return { apples = live.status.apples }
				end`),
				StatusAggregation: script(`function AggregateStatus(o, items)
					local apples = 0
					for _, item in ipairs(items or {}) do
						apples = apples + ((item.status or {}).apples or 0)
					end
					o.status = { apples = apples }
					return o
				end`),
				HealthInterpretation: script(`function InterpretHealth(live) return live.status ~= nil and live.status.apples > 0 end`),
				DependencyInterpretation: script(`function GetDependencies(o)
					return {{ apiVersion = "v1", kind = "ConfigMap", namespace = o.metadata.namespace, name = o.spec.plan }}
				end`),
			},
		},
	}
}

// TestARuleMeansSomethingEverywhereWhileItChanges propagates an unknown kind with a customization, and changes the
// customization while everything runs.
func TestARuleMeansSomethingEverywhereWhileItChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	hub := s.hub.Client(t)
	for _, c := range append(s.members, s.hub) {
		g.Expect(c.Client(t).Create(t.Context(), orchards())).To(Succeed())
	}
	rules := orchardRules()
	g.Expect(hub.Create(t.Context(), rules)).To(Succeed())

	template := builder.MakeTemplate("farm.example.com/v1", "Orchard", ns, "south").Set(int64(4), "spec", "trees").Set("rows", "spec", "plan").Obj()
	plan := builder.MakeConfigMap(ns, "rows", "distance", "4m").Obj()
	eventually(t, func(g Gomega) { // the API server takes a moment to serve the kind
		g.Expect(client.IgnoreAlreadyExists(hub.Create(t.Context(), template.DeepCopy()))).To(Succeed())
	})
	eventually(t, func(g Gomega) { // and the members report it to the hub
		for _, member := range s.members {
			cluster := &clusterv1alpha1.Cluster{}
			g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: member.Name}, cluster)).To(Succeed())
			g.Expect(cluster.Status.APIEnablements).To(ContainElement(HaveField("GroupVersion", "farm.example.com/v1")))
		}
	})
	s.create(t, plan, builder.MakePolicy(ns, "orchards").Select("farm.example.com/v1", "Orchard", "south").
		Weight("edge-1", 1).Weight("edge-2", 1).WithDependencies().Obj())

	eventually(t, func(g Gomega) {
		g.Expect(s.binding(t, g, template).Spec.Replicas).To(BeEquivalentTo(4))
		for _, member := range []string{"edge-1", "edge-2"} {
			g.Expect(integer(s.inMember(t, g, member, template), "spec", "trees")).To(BeEquivalentTo(2), "the rule divides them")
			s.inMember(t, g, member, plan)
		}
	})

	// The member's gardener is retained; its status is aggregated.
	for i, member := range s.members {
		eventually(t, func(g Gomega) {
			live := s.inMember(t, g, member.Name, template)
			g.Expect(unstructured.SetNestedField(live.Object, "Ann", "spec", "gardener")).To(Succeed())
			g.Expect(member.Client(t).Update(t.Context(), live)).To(Succeed())
			g.Expect(unstructured.SetNestedField(live.Object, int64(10*(i+1)), "status", "apples")).To(Succeed())
			g.Expect(member.Client(t).Status().Update(t.Context(), live)).To(Succeed())
		})
	}
	health := func(want workv1alpha1.ResourceHealth) func(Gomega) {
		return func(g Gomega) {
			items := byCluster(s.binding(t, g, template))
			g.Expect(items["edge-1"].Health).To(Equal(want))
			g.Expect(items["edge-2"].Health).To(Equal(want))
		}
	}
	eventually(t, health(workv1alpha1.Healthy))
	eventually(t, func(g Gomega) {
		g.Expect(integer(s.onHub(t, g, template), "status", "apples")).To(BeEquivalentTo(30))
		gardener, _, _ := unstructured.NestedString(s.inMember(t, g, "edge-1", template).Object, "spec", "gardener")
		g.Expect(gardener).To(Equal("Ann"))
	})

	// Every stage uses the changed customization, without a change of any object.
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(rules), rules)).To(Succeed())
	c := &rules.Spec.Customizations
	c.ReplicaResource.LuaScript = `function GetReplicas(o) return o.spec.trees * 2 end`
	c.HealthInterpretation.LuaScript = `function InterpretHealth(live) return false end`
	c.StatusAggregation.LuaScript = `function AggregateStatus(o, items) o.status = { orchards = #(items or {}) } return o end`
	c.DependencyInterpretation.LuaScript = `function GetDependencies(o) return {} end`
	g.Expect(hub.Update(t.Context(), rules)).To(Succeed())
	eventually(t, health(workv1alpha1.Unhealthy))
	eventually(t, func(g Gomega) {
		g.Expect(s.binding(t, g, template).Spec.Replicas).To(BeEquivalentTo(8))
		g.Expect(integer(s.inMember(t, g, "edge-1", template), "spec", "trees")).To(BeEquivalentTo(4))
		g.Expect(integer(s.onHub(t, g, template), "status", "orchards")).To(BeEquivalentTo(2))
		g.Expect(client.IgnoreNotFound(s.get(t, s.member("edge-1"), plan))).To(Succeed())
		g.Expect(s.get(t, s.member("edge-1"), plan)).NotTo(Succeed(), "nobody needs it any more")
	})

	// Without the customization the kind is unknown again.
	g.Expect(hub.Delete(t.Context(), rules)).To(Succeed())
	eventually(t, health(workv1alpha1.Healthy))
}
