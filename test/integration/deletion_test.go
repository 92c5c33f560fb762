package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

func TestWhatTheTemplateDropsDisappears(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue", "shape", "round").Obj()
	s.create(t, template, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj())
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-1", template) })

	s.update(t, template, func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, "data", "shape")
	})
	eventually(t, func(g Gomega) {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "edge-1", template).Object, "data")
		g.Expect(data).To(Equal(map[string]string{"colour": "blue"}))
	})
}

func TestDeletingATemplateDeletesItEverywhere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	s.create(t, template, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1", "edge-2").Obj())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", template)
		s.inMember(t, g, "edge-2", template)
	})
	var binding *workv1alpha2.ResourceBinding
	eventually(t, func(g Gomega) { binding = s.binding(t, g, template) })

	g.Expect(s.hub.Client(t).Delete(t.Context(), template.DeepCopy())).To(Succeed())
	eventually(t, func(g Gomega) {
		for _, name := range []string{"edge-1", "edge-2"} {
			g.Expect(s.get(t, s.member(name), template)).To(Satisfy(apierrors.IsNotFound))
			g.Expect(s.works(t, g, name, binding)).To(BeEmpty())
		}
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKeyFromObject(binding), binding)).To(Satisfy(apierrors.IsNotFound))
	})
}

func TestPreservedObjectsStayWithoutOurMarks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	s.create(t, template, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Preserve().Obj())
	eventually(t, func(g Gomega) {
		g.Expect(s.inMember(t, g, "edge-1", template).GetLabels()).To(HaveKeyWithValue(contract.ManagedLabel, contract.LabelTrue))
		g.Expect(meta.IsStatusConditionTrue(s.binding(t, g, template).Status.Conditions, workv1alpha2.BindingFullyApplied)).To(BeTrue())
	})

	g.Expect(s.hub.Client(t).Delete(t.Context(), template.DeepCopy())).To(Succeed())
	eventually(t, func(g Gomega) {
		live := s.inMember(t, g, "edge-1", template)
		g.Expect(live.GetLabels()).NotTo(HaveKey(contract.ManagedLabel))
		g.Expect(live.GetLabels()).NotTo(HaveKey(contract.WorkPermanentIDLabel))
	})
}

// TestWhatAPreservedWorkloadNeedsStaysWithIt deletes two workloads that share a ConfigMap, one of them preserved, in
// either order or both at once: the ConfigMap stays wherever the preserved workload does, and nowhere else.
func TestWhatAPreservedWorkloadNeedsStaysWithIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	world := func(settings string, names ...string) (*unstructured.Unstructured, []*unstructured.Unstructured) {
		config := builder.MakeConfigMap(ns, settings, "colour", "blue").Obj()
		s.create(t, config)
		var workloads []*unstructured.Unstructured
		for _, name := range names {
			workloads = append(workloads, builder.MakeDeployment(ns, name).Replicas(1).Set(mounting(settings), "spec", "template", "spec", "volumes").Obj())
		}
		kept, other := workloads[0], workloads[1]
		s.create(t, kept, other,
			builder.MakePolicy(ns, names[0]).Select("apps/v1", "Deployment", names[0]).Clusters("edge-1").WithDependencies().Preserve().Obj(),
			builder.MakePolicy(ns, names[1]).Select("apps/v1", "Deployment", names[1]).Clusters("edge-1", "edge-2").WithDependencies().Obj())
		eventually(t, func(g Gomega) {
			s.inMember(t, g, "edge-1", kept)
			s.inMember(t, g, "edge-1", other)
			s.inMember(t, g, "edge-1", config)
			s.inMember(t, g, "edge-2", config)
			g.Expect(s.binding(t, g, config).Spec.RequiredBy).To(HaveLen(2))
		})
		return config, workloads
	}
	outlives := func(config *unstructured.Unstructured, kept, other *unstructured.Unstructured) {
		eventually(t, func(g Gomega) {
			for _, obj := range []*unstructured.Unstructured{kept, config} {
				live := s.inMember(t, g, "edge-1", obj)
				g.Expect(live.GetDeletionTimestamp()).To(BeNil())
				g.Expect(live.GetLabels()).NotTo(HaveKey(contract.ManagedLabel), "it is nobody's")
			}
			g.Expect(s.get(t, s.member("edge-1"), other)).To(Satisfy(apierrors.IsNotFound))
		})
	}
	config, workloads := world("settings", "kept", "other")
	together, both := world("together", "kept-too", "other-too")
	reverse, first := world("reverse", "kept-on", "other-first")
	goes := func(config *unstructured.Unstructured) {
		eventually(t, func(g Gomega) {
			g.Expect(s.get(t, s.member("edge-2"), config)).To(Satisfy(apierrors.IsNotFound), "only the other one had it there")
		})
	}

	g.Expect(s.hub.Client(t).Delete(t.Context(), first[1].DeepCopy())).To(Succeed())
	g.Expect(s.hub.Client(t).Delete(t.Context(), workloads[0].DeepCopy())).To(Succeed())
	for _, workload := range both {
		g.Expect(s.hub.Client(t).Delete(t.Context(), workload.DeepCopy())).To(Succeed())
	}
	eventually(t, func(g Gomega) {
		g.Expect(s.inMember(t, g, "edge-1", workloads[0]).GetLabels()).NotTo(HaveKey(contract.ManagedLabel))
		g.Expect(s.binding(t, g, config).Spec.RequiredBy).To(HaveLen(1))
		g.Expect(s.work(t, g, "edge-2", config).Spec.PreserveResourcesOnDeletion).To(HaveValue(BeFalse()))
	})
	g.Expect(s.inMember(t, g, "edge-1", config).GetLabels()).To(HaveKey(contract.ManagedLabel), "the other one needs it still")
	g.Expect(s.hub.Client(t).Delete(t.Context(), workloads[1].DeepCopy())).To(Succeed())
	outlives(config, workloads[0], workloads[1])
	goes(config)
	outlives(together, both[0], both[1])
	goes(together)

	goes(reverse)
	g.Expect(s.inMember(t, g, "edge-1", reverse).GetLabels()).To(HaveKey(contract.ManagedLabel), "the one that is to be preserved needs it")
	g.Expect(s.hub.Client(t).Delete(t.Context(), first[0].DeepCopy())).To(Succeed())
	outlives(reverse, first[0], first[1])
}

// mounting returns the volumes of a pod that mounts a ConfigMap.
func mounting(configMap string) []any {
	return []any{map[string]any{"name": "v", "configMap": map[string]any{"name": configMap}}}
}

func TestDeletingAPolicyLeavesWhatItSentOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	policy := builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj()
	s.create(t, template, policy)
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-1", template) })

	g.Expect(s.hub.Client(t).Delete(t.Context(), policy)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Satisfy(apierrors.IsNotFound))
		g.Expect(s.onHub(t, g, template).GetLabels()).NotTo(HaveKey(contract.PropagationPolicyPermanentIDLabel), "the claim is released")
	})
	g.Consistently(func(g Gomega) {
		s.inMember(t, g, "edge-1", template)
		s.binding(t, g, template)
	}).WithTimeout(quiet).Should(Succeed())
}
