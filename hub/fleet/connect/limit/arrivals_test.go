package limit

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestArrivals(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a, now := NewArrivals(), time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	release, ok := a.Acquire("edge-1", now)
	g.Expect(ok).To(BeTrue())
	_, ok = a.Acquire("edge-1", now)
	g.Expect(ok).To(BeFalse(), "one at a time")
	release()
	opened := 1
	for range 100 {
		if release, ok := a.Acquire("edge-1", now); ok {
			opened++
			release()
		}
	}
	g.Expect(opened).To(Equal(arrivalsAtOnce))
	_, ok = a.Acquire("edge-2", now)
	g.Expect(ok).To(BeTrue(), "others do not wait for it")
	now = now.Add(time.Second)
	release, ok = a.Acquire("edge-1", now)
	g.Expect(ok).To(BeTrue())
	release()
	_, ok = a.Acquire("edge-1", now)
	g.Expect(ok).To(BeFalse())

	_, ok = a.Acquire("edge-3", now.Add(2*restedEvery))
	g.Expect(ok).To(BeTrue())
	g.Expect(a.clusters).To(HaveLen(2), "one that rests is forgotten, and one that is at it is not")
	g.Expect(a.clusters).NotTo(HaveKey("edge-1"))
}
