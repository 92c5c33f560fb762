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
	g.Expect(tr.since("a")).To(Equal(at(0)))
	took, done := see(3, 1, true)
	g.Expect(done).To(BeTrue())
	g.Expect(took).To(Equal(3 * time.Second))
	g.Expect(tr.since("a")).To(BeZero())
	_, done = see(4, 1, true)
	g.Expect(done).To(BeFalse(), "nothing changed")

	// The scheduler's update follows the author's: for people this is one change.
	_, _ = see(10, 2, false)
	_, _ = see(11, 3, false)
	took, done = see(15, 3, true)
	g.Expect(done).To(BeTrue())
	g.Expect(took).To(Equal(5 * time.Second))

	tr.Start("b", Delivery{Generation: 7, Applied: true}, at(20))
	_, done = tr.Observe("b", Delivery{Generation: 7, Applied: true}, at(21))
	g.Expect(done).To(BeFalse(), "it was there before")
	tr.Start("c", Delivery{Generation: 7}, at(20))
	g.Expect(tr.since("c")).To(Equal(at(20)))
	tr.Forget("c")
	g.Expect(tr.since("c")).To(BeZero())
	g.Expect(tr.since("never seen")).To(BeZero())
}

// TestHowLongTheHeardTake checks that a cluster which is silent, perhaps for days, does not make a change look old that
// the others have yet to apply.
func TestHowLongTheHeardTake(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	tr := NewTracker[string]()
	heard := func(seconds int, waits bool) time.Time { return tr.Heard("a", waits, at(seconds)) }
	change := func(seconds int, generation int64) {
		_, done := tr.Observe("a", Delivery{Generation: generation}, at(seconds))
		g.Expect(done).To(BeFalse())
	}
	g.Expect(heard(0, true)).To(BeZero(), "nothing is known of it")
	change(0, 1)
	g.Expect(heard(5, true)).To(Equal(at(0)))
	g.Expect(heard(20, false)).To(BeZero())
	change(1000, 2)
	g.Expect(heard(1001, false)).To(BeZero(), "no Work shows it yet")
	g.Expect(heard(1002, true)).To(Equal(at(1000)), "it counts from its own time")
	change(1003, 3)
	g.Expect(heard(1004, true)).To(Equal(at(1000)), "the change before is not applied either")
	g.Expect(heard(1005, false)).To(BeZero())
	g.Expect(heard(1006, true)).To(Equal(at(1003)), "the change before was applied")
	g.Expect(heard(1020, false)).To(BeZero())
	g.Expect(heard(1030, true)).To(Equal(at(1030)), "another cluster is heard from again, and has yet to catch up")
	g.Expect(tr.since("a")).To(Equal(at(0)), "the silent one still has not applied the first")
	took, done := tr.Observe("a", Delivery{Generation: 3, Applied: true}, at(1040))
	g.Expect(done).To(BeTrue())
	g.Expect(took).To(Equal(10*time.Second), "it was silent before")
	g.Expect(heard(1041, true)).To(BeZero(), "all have it")

	change(1100, 4)
	g.Expect(heard(1120, false)).To(BeZero())
	_, done = tr.Observe("a", Delivery{Generation: 4, Applied: true}, at(700000))
	g.Expect(done).To(BeFalse(), "the silent one was back, and had it, before anybody looked")
	change(700100, 5)
	took, done = tr.Observe("a", Delivery{Generation: 5, Applied: true}, at(700102))
	g.Expect(done).To(BeTrue())
	g.Expect(took).To(Equal(2*time.Second), "the next change is measured again")

	tr.Start("a", Delivery{Generation: 3}, at(2000))
	g.Expect(heard(2005, true)).To(Equal(at(2000)))
}

// since returns since when a change is being propagated; zero if none is.
func (t *Tracker[K]) since(key K) time.Time {
	if known := t.of[key]; known != nil {
		return known.since
	}
	return time.Time{}
}
