package quotas_test

import (
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/stagetest"
)

// TestAPartThatABindingAdoptedIsNobodysAgain has a Work that an earlier version of the hub let the binding of a
// ResourceQuota of the same name adopt.
func TestAPartThatABindingAdoptedIsNobodysAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.join(t, "adopted")
	w.quota.Spec.Overall = list("cpu", "4")
	w.quota.Spec.StaticAssignments = []policyv1alpha1.StaticClusterAssignment{part("adopted", "1")}
	g.Expect(w.hub.Create(t.Context(), w.quota)).To(Succeed())
	g.Eventually(w.hard(t, "adopted"), stagetest.Timeout, stagetest.Poll).Should(Equal("1"))

	work := w.work(t, "adopted")
	stagetest.Change(t, w.hub, work, func() {
		work.Labels[contract.ResourceBindingPermanentIDLabel] = "id"
		work.Annotations[contract.ResourceBindingNamespaceAnnotation], work.Annotations[contract.ResourceBindingNameAnnotation] = w.quota.Namespace, "all-resourcequota"
		work.Spec.Workload.Manifests, work.Spec.PreserveResourcesOnDeletion = nil, new(true)
	})
	g.Eventually(w.hard(t, "adopted"), stagetest.Timeout, stagetest.Poll).Should(Equal("1"))
	work = w.work(t, "adopted")
	g.Expect(bindings.IDOf(work)).To(BeEmpty())
	_, named := bindings.KeyOf(work)
	g.Expect(named).To(BeFalse())
	g.Expect(work.Spec.PreserveResourcesOnDeletion).To(BeNil())
}
