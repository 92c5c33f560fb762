package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAWay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lost := false
	w := newWay(line{delay: 300 * time.Millisecond, rate: 1000, loss: 0.5}, 1)
	w.random = func() float64 {
		if lost {
			return 0
		}
		return 1
	}
	start := time.Unix(0, 0)
	after := func(t time.Time) time.Duration { return t.Sub(start) }

	arrives, next := w.send(start, 1000-overhead)
	g.Expect(after(arrives)).To(Equal(1300 * time.Millisecond))
	g.Expect(next.After(start)).To(BeFalse(), "there is room for more")

	arrives, next = w.send(start, 2000-overhead)
	g.Expect(after(arrives)).To(Equal(3300*time.Millisecond), "it waits for the first")
	g.Expect(after(next)).To(Equal(time.Second), "so much may wait and no more")

	lost = true
	arrives, _ = w.send(start.Add(10*time.Second), 1000-overhead)
	g.Expect(after(arrives)).To(Equal(12300*time.Millisecond), "it is sent again")
	g.Expect(w.sent()).To(BeEquivalentTo(5000))
}
