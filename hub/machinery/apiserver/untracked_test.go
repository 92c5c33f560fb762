package apiserver

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestNoRecordIsKeptOfWhoSetWhatInAWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := startAdmission(t)
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"}}
	g.Expect(a.client.Create(t.Context(), work)).To(Succeed())
	g.Expect(work.ManagedFields).To(BeEmpty())
	report := client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`))
	g.Expect(a.client.Status().Patch(t.Context(), work, report)).To(Succeed())
	g.Expect(work.ManagedFields).To(BeEmpty(), "where it is empty it does not begin")

	// Whoever applies a Work needs its managedFields.
	own := a.object(t, "work.karmada.io/v1alpha1", "Work", "suspendDispatching: true\n")
	own.SetGenerateName("")
	own.SetName("own")
	own.SetNamespace(a.namespace)
	g.Expect(a.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(own), client.FieldOwner("somebody"))).To(Succeed())
	applied := &workv1alpha1.Work{}
	g.Expect(a.client.Get(t.Context(), client.ObjectKeyFromObject(own), applied)).To(Succeed())
	g.Expect(applied.ManagedFields).To(ContainElement(HaveField("Operation", metav1.ManagedFieldsOperationApply)))
}
