package kube

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAWarningIsSaidOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w WarnOnce[string]
	w.Resolved("a", "Reason")
	g.Expect(w.IsNew("a", "Reason", "it broke")).To(BeTrue())
	g.Expect(w.IsNew("a", "Reason", "it broke")).To(BeFalse())
	g.Expect(w.IsNew("b", "Reason", "it broke")).To(BeTrue(), "of another thing")
	g.Expect(w.IsNew("a", "Other", "it broke")).To(BeTrue(), "for another reason")
	g.Expect(w.IsNew("a", "Reason", "it broke otherwise")).To(BeTrue())

	w.Resolved("a", "Reason")
	g.Expect(w.IsNew("a", "Other", "it broke")).To(BeFalse(), "only one reason is mended")
	g.Expect(w.IsNew("a", "Reason", "it broke otherwise")).To(BeTrue(), "again, after it was mended")
	w.Forget("a")
	g.Expect(w.IsNew("a", "Other", "it broke")).To(BeTrue())
	w.Resolved("b", "Reason")
	g.Expect(w.last).NotTo(HaveKey("b"), "nothing is kept of what is well")
}
