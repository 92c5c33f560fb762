package evict

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestTurnsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(2)
	g.Expect(p.Ask("north", "a", now)).To(BeZero())
	g.Expect(p.Ask("north", "b", now)).To(Equal(500 * time.Millisecond))
	g.Expect(p.Ask("north", "c", now)).To(Equal(time.Second))
	g.Expect(p.Ask("south", "d", now)).To(BeZero(), "another zone is not held up")
	now = now.Add(500 * time.Millisecond)
	g.Expect(p.Ask("north", "c", now)).To(Equal(500*time.Millisecond), "asking again is no new turn")
	g.Expect(p.Ask("north", "b", now)).To(BeZero())
	p.Forget("north", "c")
	p.Forget("west", "c")
	p.Forget("north", "x")
	now = now.Add(time.Minute)
	g.Expect(p.Ask("north", "e", now)).To(BeZero(), "turns are not saved up")
	g.Expect(p.Ask("north", "f", now)).To(Equal(500 * time.Millisecond))
}

func TestWhoGivesUpHoldsUpNobody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(1)
	for i := range 100 {
		p.Ask("north", fmt.Sprint(i), now)
	}
	for i := range 100 {
		p.Forget("north", fmt.Sprint(i))
	}
	g.Expect(p.Ask("north", "a", now)).To(Equal(time.Second), "one was taken")
	g.Expect(p.Ask("north", "b", now)).To(Equal(2 * time.Second))
}

func TestATurnIsNotSavedUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(1)
	for i := range 100 {
		p.Ask("north", fmt.Sprint(i), now)
	}
	now = now.Add(time.Hour)
	through := 0
	for i := range 100 {
		if p.Ask("north", fmt.Sprint(i), now) == 0 {
			through++
		}
	}
	g.Expect(through).To(Equal(1), "an hour later they are one after the other again")
	g.Expect(p.Ask("north", "1", now.Add(9*time.Second))).To(BeZero(), "who is a little late has its turn")
}

func TestWithoutALimitEveryTurnIsNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := NewRateLimiter(0)
	for i := range 100 {
		g.Expect(p.Ask("north", fmt.Sprint(i), time.Unix(0, 0))).To(BeZero())
	}
}
