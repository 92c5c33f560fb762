package integration

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// TestDeletingWorksByHandTouchesNothingInTheMember deletes a Work, and then the execution namespace of a cluster. The
// hub recreates the Works, and no object in the member is recreated.
func TestDeletingWorksByHandTouchesNothingInTheMember(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	s.create(t, template, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("shop-1").Obj())
	around := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}}
	uids := func(g Gomega) []types.UID {
		return []types.UID{s.inMember(t, g, "shop-1", template).GetUID(), s.inMember(t, g, "shop-1", around).GetUID()}
	}
	var first []types.UID
	eventually(t, func(g Gomega) {
		first = uids(g)
		g.Expect(s.work(t, g, "shop-1", template).Status.ObservedGeneration).NotTo(BeZero())
	})
	hub := s.hub.Client(t)
	// again waits until the hub has recreated the Work and the agent has applied it.
	again := func(last *workv1alpha1.Work, colour string) {
		t.Helper()
		eventually(t, func(g Gomega) {
			work := s.work(t, g, "shop-1", template)
			g.Expect(work.UID).NotTo(Equal(last.UID))
			g.Expect(work.DeletionTimestamp).To(BeNil())
		})
		s.update(t, template, func(obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, colour, "data", "colour")
		})
		eventually(t, func(g Gomega) {
			data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "shop-1", template).Object, "data")
			g.Expect(data).To(HaveKeyWithValue("colour", colour))
			g.Expect(uids(g)).To(Equal(first), "they are the same objects")
		})
	}

	work := s.work(t, g, "shop-1", template)
	g.Expect(hub.Delete(t.Context(), work)).To(Succeed())
	again(work, "green")

	work = s.work(t, g, "shop-1", template)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: work.Namespace}}
	meant := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+contract.DeletionAllowedAnnotation+`":"true"}}}`))
	g.Expect(hub.Patch(t.Context(), namespace, meant)).To(Succeed())
	g.Expect(hub.Delete(t.Context(), namespace)).To(Succeed())
	again(work, "red")
}

// widgets is the CustomResourceDefinition of Widgets in a group.
func widgets(group string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

// widget returns a Widget.
func widget(group, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name, "namespace": namespace},
	}}
}

// TestWhatMovesAwayLeavesWhatOthersHaveInIt moves a CustomResourceDefinition, and a namespace with its contents, to
// another cluster. Other people's objects in the first one stay, with the definition and the Namespace they depend on:
// the agent does not delete the definition, and the hub keeps the Namespace.
func TestWhatMovesAwayLeavesWhatOthersHaveInIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	group := ns + ".example.com"
	definition := widgets(group)
	around := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}}
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	forDefinition := builder.MakePolicy("", ns).Select("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition.GetName()).Clusters("edge-1").ClusterObj()
	forTemplate := builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj()
	s.create(t, definition, forDefinition, template, forTemplate)

	// 1. The member creates its own objects in both.
	other := widget(group, ns, "theirs")
	theirs := builder.MakeConfigMap(ns, "theirs", "colour", "red").Obj()
	member := s.member("edge-1")
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", template)
		for _, obj := range []*unstructured.Unstructured{other, theirs} {
			g.Expect(client.IgnoreAlreadyExists(member.Client(t).Create(t.Context(), obj.DeepCopy()))).To(Succeed())
		}
	})
	stay := []*unstructured.Unstructured{definition, around, other, theirs}
	uids := func(g Gomega) []types.UID {
		var out []types.UID
		for _, obj := range stay {
			live := s.inMember(t, g, "edge-1", obj)
			g.Expect(live.GetDeletionTimestamp()).To(BeNil())
			out = append(out, live.GetUID())
		}
		return out
	}
	first := uids(g)
	// Wait until the hub knows that the agent applied them.
	works := map[*unstructured.Unstructured]*workv1alpha1.Work{}
	eventually(t, func(g Gomega) {
		for _, obj := range []*unstructured.Unstructured{definition, around} {
			works[obj] = s.work(t, g, "edge-1", obj)
			g.Expect(works[obj].Status.Conditions).NotTo(BeEmpty())
		}
	})

	// 2. Move both.
	hub := s.hub.Client(t)
	elsewhere := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":["edge-2"]}}}}`))
	g.Expect(hub.Patch(t.Context(), forDefinition, elsewhere)).To(Succeed())
	g.Expect(hub.Patch(t.Context(), forTemplate, elsewhere)).To(Succeed())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", definition)
		s.inMember(t, g, "edge-2", template)
		g.Expect(s.get(t, member, template)).To(Satisfy(apierrors.IsNotFound))
		err := hub.Get(t.Context(), client.ObjectKeyFromObject(works[definition]), &workv1alpha1.Work{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
		g.Expect(s.work(t, g, "edge-1", around).UID).To(Equal(works[around].UID))
		g.Expect(uids(g)).To(Equal(first), "they are the same objects")
		var notes []string
		for _, e := range s.events(t, g, works[definition].Namespace) {
			if e.Reason == "LeftInMember" {
				notes = append(notes, e.Note)
			}
		}
		g.Expect(notes).To(ContainElement(ContainSubstring(definition.GetName() + " is not deleted from the member")))
	})

	// 3. When they move back, the existing ones are adopted.
	back := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":["edge-1"]}}}}`))
	g.Expect(hub.Patch(t.Context(), forDefinition, back)).To(Succeed())
	g.Expect(hub.Patch(t.Context(), forTemplate, back)).To(Succeed())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", template)
		g.Expect(meta.IsStatusConditionTrue(s.work(t, g, "edge-1", definition).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
		g.Expect(uids(g)).To(Equal(first))
	})
}

// TestWhatMovesAwayWaitsForWhatOtherPoliciesHaveInIt moves a CustomResourceDefinition without the policy that
// propagates its custom resources: none of these is deleted with it. Moving back undoes everything; once the custom
// resources move as well, everything leaves.
func TestWhatMovesAwayWaitsForWhatOtherPoliciesHaveInIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	group := ns + ".example.com"
	definition, template := widgets(group), widget(group, ns, "ours")
	forDefinition := builder.MakePolicy("", ns).Select("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition.GetName()).Clusters("edge-1").ClusterObj()
	forTemplate := builder.MakePolicy(ns, "widgets").Select(group+"/v1", "Widget", "ours").Clusters("edge-1").Obj()
	s.create(t, definition, forDefinition, forTemplate)
	hub, member := s.hub.Client(t), s.member("edge-1")
	var first []types.UID
	uids := func(g Gomega) []types.UID {
		return []types.UID{s.inMember(t, g, "edge-1", definition).GetUID(), s.inMember(t, g, "edge-1", template).GetUID()}
	}
	eventually(t, func(g Gomega) {
		g.Expect(client.IgnoreAlreadyExists(hub.Create(t.Context(), template.DeepCopy()))).To(Succeed())
		first = uids(g)
	})
	work := s.work(t, g, "edge-1", definition)
	place := func(policy client.Object, cluster string) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":["`+cluster+`"]}}}}`))
		g.Expect(hub.Patch(t.Context(), policy, patch)).To(Succeed())
	}

	place(forDefinition, "edge-2")
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", definition)
		var notes []string
		for _, e := range s.events(t, g, work.Namespace) {
			if e.Reason == "ContentsWanted" {
				notes = append(notes, e.Note)
			}
		}
		g.Expect(notes).To(ContainElement(And(ContainSubstring(definition.GetName()), ContainSubstring("Widget "+ns+"/ours"))))
		g.Expect(uids(g)).To(Equal(first), "they are the same objects")
	})

	place(forDefinition, "edge-1")
	eventually(t, func(g Gomega) {
		again := s.work(t, g, "edge-1", definition)
		g.Expect(again.UID).NotTo(Equal(work.UID))
		g.Expect(meta.IsStatusConditionTrue(again.Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
		g.Expect(uids(g)).To(Equal(first))
	})

	place(forDefinition, "edge-2")
	place(forTemplate, "edge-2")
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", template)
		g.Expect(s.get(t, member, definition)).To(Satisfy(apierrors.IsNotFound))
	})
}

// TestANamespaceThatIsDeletedOnTheHubGoesWithAllThatIsInIt deletes a namespace on the hub: it is deleted in the
// members, in whichever order the Works of its objects end.
func TestANamespaceThatIsDeletedOnTheHubGoesWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	around := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}}
	policy := builder.MakePolicy(ns, "all").Select("v1", "ConfigMap", "").Clusters("edge-1").Obj()
	templates := make([]*unstructured.Unstructured, 10)
	for i := range templates {
		templates[i] = builder.MakeConfigMap(ns, fmt.Sprintf("settings-%d", i), "colour", "blue").Obj()
		s.create(t, templates[i])
	}
	s.create(t, policy)
	eventually(t, func(g Gomega) {
		for _, template := range templates {
			s.inMember(t, g, "edge-1", template)
		}
		s.inMember(t, g, "edge-1", around)
	})
	g.Expect(s.hub.Client(t).Delete(t.Context(), around.DeepCopy())).To(Succeed())
	// In order: its contents, the Namespace on the hub, and, once the hub's garbage collector notices, its binding.
	g.Eventually(func(g Gomega) {
		g.Expect(s.get(t, s.hub, around)).To(Satisfy(apierrors.IsNotFound), "on the hub")
		g.Expect(s.get(t, s.member("edge-1"), around)).To(Satisfy(apierrors.IsNotFound), "in the member")
	}).WithTimeout(3 * waitTimeout).WithPolling(poll).Should(Succeed())
}
