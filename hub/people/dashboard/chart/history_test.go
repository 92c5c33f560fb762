package chart

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := New()
	start := time.Unix(1_000_000, 0)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * Every) }
	g.Expect(h.Samples("a")).To(BeEmpty())
	for i := range Length + 10 {
		values := map[string]float64{"a": float64(i)}
		if i >= Length {
			values["late"] = 1
		}
		h.Add(at(i), values)
	}
	all := h.Samples("a")
	g.Expect(all).To(HaveLen(Length), "the oldest are forgotten")
	g.Expect(all[0]).To(Equal(Sample{At: at(10), Value: 10}))
	g.Expect(all[len(all)-1]).To(Equal(Sample{At: at(Length + 9), Value: Length + 9}))
	g.Expect(h.Samples("late")).To(HaveLen(10), "it begins when it began")

	h.Add(at(Length+10), map[string]float64{"a": 1})
	g.Expect(h.Samples("late")).To(BeEmpty(), "what is gone is forgotten")
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := New()
	values := map[string]float64{}
	for i := range 10_000 {
		values[fmt.Sprint(i)] = 1
	}
	h.Add(time.Unix(0, 0), values)
	kept := 0
	for name := range values {
		kept += len(h.Samples(name))
	}
	g.Expect(kept).To(Equal(8192))
}
