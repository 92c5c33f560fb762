package kube

import (
	"testing"
	"time"

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

func TestAWarningThatHoldsIsDueAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w WarnOnce[string]
	now := time.Unix(1000, 0)
	due := func(text string) bool { return w.IsDue("a", "Reason", text, now, time.Hour) }
	g.Expect(due("it broke")).To(BeTrue())
	now = now.Add(time.Hour - 1)
	g.Expect(due("it broke")).To(BeFalse())
	now = now.Add(1)
	g.Expect(due("it broke")).To(BeTrue())
	g.Expect(due("it broke")).To(BeFalse(), "that was just now")
	g.Expect(due("it broke otherwise")).To(BeTrue())
	w.Forget("a")
	g.Expect(due("it broke otherwise")).To(BeTrue())
}
