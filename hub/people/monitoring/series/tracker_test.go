package series

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestHowLongAChangeTakes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	tr := NewTracker[string]()
	see := func(seconds int, generation int64, applied bool) (time.Duration, bool) {
		return tr.Observe("a", Delivery{Generation: generation, Applied: applied}, at(seconds))
	}
	_, done := see(0, 1, false)
	g.Expect(done).To(BeFalse())
	g.Expect(tr.Since("a")).To(Equal(at(0)))
	took, done := see(3, 1, true)
	g.Expect(done).To(BeTrue())
	g.Expect(took).To(Equal(3 * time.Second))
	g.Expect(tr.Since("a")).To(BeZero())
	_, done = see(4, 1, true)
	g.Expect(done).To(BeFalse(), "nothing changed")

	// The scheduler adds to what the author changed: one change for people.
	_, _ = see(10, 2, false)
	_, _ = see(11, 3, false)
	took, done = see(15, 3, true)
	g.Expect(done).To(BeTrue())
	g.Expect(took).To(Equal(5 * time.Second))

	tr.Start("b", Delivery{Generation: 7, Applied: true}, at(20))
	_, done = tr.Observe("b", Delivery{Generation: 7, Applied: true}, at(21))
	g.Expect(done).To(BeFalse(), "it was there before")
	tr.Start("c", Delivery{Generation: 7}, at(20))
	g.Expect(tr.Since("c")).To(Equal(at(20)))
	tr.Forget("c")
	g.Expect(tr.Since("c")).To(BeZero())
	g.Expect(tr.Since("never seen")).To(BeZero())
}
