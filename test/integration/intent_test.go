package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// Somebody deletes a Work, and then the namespace that all Works of a cluster are in. The hub
// makes them again, and nothing in the member is another object afterwards.
func TestDeletingWorksByHandTouchesNothingInTheMember(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := own(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	s.create(t, template, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj())
	around := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}}
	uids := func(g Gomega) []types.UID {
		return []types.UID{s.inMember(t, g, "edge-1", template).GetUID(), s.inMember(t, g, "edge-1", around).GetUID()}
	}
	var first []types.UID
	eventually(t, func(g Gomega) {
		first = uids(g)
		g.Expect(s.work(t, g, "edge-1", template).Status.ObservedGeneration).NotTo(BeZero())
	})
	hub := s.hub.Client(t)
	// again waits until the hub has made the Work anew and the agent has applied that one.
	again := func(last *workv1alpha1.Work, colour string) {
		t.Helper()
		eventually(t, func(g Gomega) {
			work := s.work(t, g, "edge-1", template)
			g.Expect(work.UID).NotTo(Equal(last.UID))
			g.Expect(work.DeletionTimestamp).To(BeNil())
		})
		s.update(t, template, func(obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, colour, "data", "colour")
		})
		eventually(t, func(g Gomega) {
			data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "edge-1", template).Object, "data")
			g.Expect(data).To(HaveKeyWithValue("colour", colour))
			g.Expect(uids(g)).To(Equal(first), "they are the same objects")
		})
	}

	work := s.work(t, g, "edge-1", template)
	g.Expect(hub.Delete(t.Context(), work)).To(Succeed())
	again(work, "green")

	work = s.work(t, g, "edge-1", template)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: work.Namespace}}
	meant := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+contract.DeletionAllowedAnnotation+`":"true"}}}`))
	g.Expect(hub.Patch(t.Context(), namespace, meant)).To(Succeed())
	g.Expect(hub.Delete(t.Context(), namespace)).To(Succeed())
	again(work, "red")
}
