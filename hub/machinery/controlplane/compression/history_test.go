package compression

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// last sends p, and returns what the history held before.
func (h *history) last(p string) string {
	had := ""
	h.next([]byte(p), false, func(last []byte) { had = string(last) })
	return had
}

func TestAHistoryHasWhatWasSentLast(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := &history{budget: &budget{}}
	defer h.end()
	all := ""
	for i, n := range []int{1000, 10, 20 << 10, 20 << 10, 1, 100 << 10, 513, window} {
		p := strings.Repeat(string(rune('a'+i)), n)
		had := h.last(p)
		g.Expect(had == all[max(0, len(all)-window):]).To(BeTrue(), "before piece %d", i)
		all += p
	}
}

func TestASecretHasNoHistoryAndLeavesNone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &budget{}
	h := &history{budget: b}
	defer h.end()
	h.last(strings.Repeat("a", 1000))
	h.next(bytes.Repeat([]byte("s"), 1000), true, func(last []byte) { g.Expect(last).To(BeEmpty()) })
	g.Expect(b.total).To(BeZero())
	g.Expect(h.last(strings.Repeat("b", 1000))).To(BeEmpty())
	g.Expect(h.last("c")).To(HavePrefix("b"))
}

func TestAHistoryGoesWhenAllIsCalm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := &budget{}
		h := &history{budget: b}
		event, bookmark := strings.Repeat("a", quiet+1), strings.Repeat("b", quiet)
		h.last(bookmark)
		g.Expect(b.total).To(BeZero(), "a bookmark needs none")
		h.last(event)
		time.Sleep(calm / 2)
		h.last(event)
		time.Sleep(calm - time.Second)
		h.last(bookmark)
		g.Expect(b.total).To(Equal(1))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		g.Expect(b.total).To(BeZero(), "a bookmark does not keep it")
		g.Expect(h.last(event)).To(BeEmpty())
		g.Expect(b.total).To(Equal(1))
		h.end()
		h.end()
		g.Expect(b.total).To(BeZero())
		g.Expect(b.of).To(BeEmpty())
	})
}

func TestHistoriesAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &budget{}
	event := strings.Repeat("a", 1000)
	greedy := []*history{}
	for range perUser + 1 {
		h := &history{budget: b, user: "greedy"}
		defer h.end()
		h.last(event)
		greedy = append(greedy, h)
	}
	g.Expect(b.of["greedy"]).To(Equal(perUser))
	g.Expect(greedy[perUser].last(event)).To(BeEmpty(), "it goes on without")
	other := &history{budget: b, user: "other"}
	other.last(event)
	g.Expect(other.last(event)).NotTo(BeEmpty())
	other.end()

	greedy[0].end()
	greedy[perUser].last(event)
	g.Expect(greedy[perUser].last(event)).NotTo(BeEmpty(), "there is room again")

	b.total = perServer
	h := &history{budget: b, user: "late"}
	h.last(event)
	g.Expect(h.last(event)).To(BeEmpty())
	g.Expect(b.total).To(Equal(perServer))
}
