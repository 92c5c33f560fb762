package evict

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestTurnsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(2)
	g.Expect(p.Ask("north", "shop", "a", now)).To(BeZero())
	g.Expect(p.Ask("north", "shop", "b", now)).To(Equal(500 * time.Millisecond))
	g.Expect(p.Ask("north", "shop", "c", now)).To(Equal(time.Second))
	g.Expect(p.Ask("south", "shop", "d", now)).To(BeZero(), "another zone is not held up")
	now = now.Add(500 * time.Millisecond)
	g.Expect(p.Ask("north", "shop", "c", now)).To(Equal(500*time.Millisecond), "asking again is no new turn")
	g.Expect(p.Ask("north", "shop", "b", now)).To(BeZero())
	p.Forget("north", "c")
	p.Forget("west", "c")
	p.Forget("north", "x")
	now = now.Add(time.Minute)
	g.Expect(p.Ask("north", "shop", "e", now)).To(BeZero(), "turns are not saved up")
	g.Expect(p.Ask("north", "shop", "f", now)).To(Equal(500 * time.Millisecond))
}

func TestARequestThatIsGivenUpHoldsUpNobody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(1)
	for i := range 100 {
		p.Ask("north", "shop", fmt.Sprint(i), now)
	}
	for i := range 100 {
		p.Forget("north", fmt.Sprint(i))
	}
	g.Expect(p.Ask("north", "shop", "a", now)).To(Equal(time.Second), "one was taken")
	g.Expect(p.Ask("north", "shop", "b", now)).To(Equal(2 * time.Second))
}

func TestANamespaceIsNotBehindForTurnsThatItGaveUp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, waits := range map[string]bool{"nobody waits": false, "somebody else waits": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := NewRateLimiter(1)
			ask(p, "shop", 1000, now)
			if waits {
				ask(p, "some", 10, now)
			}
			for i := range 1000 {
				p.Forget("north", fmt.Sprint("shop", i))
			}
			ask(p, "many", 900, now)
			g.Expect(p.Ask("north", "shop", "again", now)).To(BeNumerically("<", 15*time.Second))
		})
	}
}

func TestATurnIsNotSavedUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(1)
	for i := range 100 {
		p.Ask("north", "shop", fmt.Sprint(i), now)
	}
	now = now.Add(time.Hour)
	through := 0
	for i := range 100 {
		if p.Ask("north", "shop", fmt.Sprint(i), now) == 0 {
			through++
		}
	}
	g.Expect(through).To(Equal(1), "an hour later they are one after the other again")
	g.Expect(p.Ask("north", "shop", "1", now.Add(9*time.Second))).To(BeZero(), "who is a little late has its turn")
}

func TestWithoutALimitEveryTurnIsNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := NewRateLimiter(0)
	for i := range 100 {
		g.Expect(p.Ask("north", "shop", fmt.Sprint(i), time.Unix(0, 0))).To(BeZero())
	}
}

// ask enqueues many names of a namespace for a zone.
func ask(p *RateLimiter, namespace string, names int, now time.Time) {
	for i := range names {
		p.Ask("north", namespace, fmt.Sprint(namespace, i), now)
	}
}

func TestNamespacesTakeTurns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(1)
	ask(p, "many", 1000, now)
	g.Expect(p.Ask("north", "one", "one0", now)).To(Equal(time.Second), "it has had no turn yet")
	ask(p, "some", 3, now)
	g.Expect(p.Ask("north", "many", "many1", now)).To(Equal(3*time.Second), "it had one, and others had none")

	var order []string
	for range 8 {
		now = now.Add(time.Second)
		for _, namespace := range []string{"many", "some", "one"} {
			for i := range 6 {
				name := fmt.Sprint(namespace, i)
				if slices.Contains(order, name) || name == "many0" || namespace == "some" && i > 2 || namespace == "one" && i > 0 {
					continue
				}
				if p.Ask("north", namespace, name, now) == 0 {
					order = append(order, name)
				}
			}
		}
	}
	g.Expect(order).To(Equal([]string{"one0", "some0", "many1", "some1", "many2", "some2", "many3", "many4"}), "one a second")
	g.Expect(p.Ask("north", "many", "many999", now)).To(Equal(995*time.Second), "all come to their turns")
}

// TestOneThatAsksAgainAndAgainHoldsUpNobody checks that a namespace gets no more turns by asking with one name after
// another.
func TestOneThatAsksAgainAndAgainHoldsUpNobody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(1)
	ask(p, "many", 1000, now)
	through := map[string]int{"many": 1}
	for range 100 {
		now = now.Add(time.Second)
		for _, namespace := range []string{"one", "many"} {
			if p.Ask("north", namespace, fmt.Sprint(namespace, through[namespace]), now) == 0 {
				through[namespace]++
			}
		}
	}
	g.Expect(through["one"]).To(BeNumerically("~", 50, 1))
	g.Expect(through["many"]).To(BeNumerically("~", 51, 1))
}

// TestASlotThatWasMissedIsNotTakenByOthers checks that the limit also holds when many miss their slots.
func TestASlotThatWasMissedIsNotTakenByOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := NewRateLimiter(1)
	ask(p, "many", 100, now)
	now = now.Add(50 * time.Second)
	through := 0
	for i := range 20 {
		if p.Ask("north", fmt.Sprint("one", i), "x"+fmt.Sprint(i), now) == 0 {
			through++
		}
	}
	g.Expect(through).To(BeZero())
}

func BenchmarkAsk(b *testing.B) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for b.Loop() {
		p := NewRateLimiter(5)
		ask(p, "many", 6000, now)
		ask(p, "others", 6000, now)
	}
}
