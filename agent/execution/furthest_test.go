package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
)

// TestHowFarTheWatchesOfAMemberHaveCome checks that Furthest includes the changes of others, as the watches show
// them, and Newest only what the agent applied, which is older here.
func TestHowFarTheWatchesOfAMemberHaveCome(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	_, _, version := w.executor.Furthest()
	g.Expect(version).To(BeEmpty())
	w.isApplied(t, w.work(t, "settings", w.configMap("settings", nil)))
	other := w.configMap("other", nil)
	other.Labels = map[string]string{contract.ManagedLabel: contract.LabelTrue}
	g.Expect(w.client.Create(t.Context(), other)).To(Succeed())
	g.Eventually(func(g Gomega) {
		kind, namespace, version := w.executor.Furthest()
		g.Expect(kind.Kind).To(Equal("ConfigMap"))
		g.Expect(namespace).To(BeEmpty())
		g.Expect(contract.Older(version, other.ResourceVersion)).To(BeFalse())
	}).WithTimeout(waitTimeout).Should(Succeed())
	_, newest := w.executor.Newest()
	g.Expect(contract.Older(newest, other.ResourceVersion)).To(BeTrue())
}
