package kube

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAWarningIsSaidOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var s Said[string]
	s.Mended("a", "Reason")
	g.Expect(s.First("a", "Reason", "it broke")).To(BeTrue())
	g.Expect(s.First("a", "Reason", "it broke")).To(BeFalse())
	g.Expect(s.First("b", "Reason", "it broke")).To(BeTrue(), "of another thing")
	g.Expect(s.First("a", "Other", "it broke")).To(BeTrue(), "for another reason")
	g.Expect(s.First("a", "Reason", "it broke otherwise")).To(BeTrue())

	s.Mended("a", "Reason")
	g.Expect(s.First("a", "Other", "it broke")).To(BeFalse(), "only one reason is mended")
	g.Expect(s.First("a", "Reason", "it broke otherwise")).To(BeTrue(), "again, after it was mended")
	s.Forget("a")
	g.Expect(s.First("a", "Other", "it broke")).To(BeTrue())
	s.Mended("b", "Reason")
	g.Expect(s.last).NotTo(HaveKey("b"), "nothing is kept of what is well")
}
