package connect

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/fleet/connect/lines"
)

// partingLine is a line whose agent says goodbye, or does not.
type partingLine struct {
	lines.Client
	leaving chan struct{}
}

func (l partingLine) Leaving() <-chan struct{} { return l.leaving }

func TestSurplus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	stays, leaves := make(chan struct{}), make(chan struct{})
	close(leaves)
	registry := lines.New()
	open := func(leaving chan struct{}, n int) []*lines.Line {
		var out []*lines.Line
		for range n {
			out = append(out, registry.Open("edge-1", partingLine{leaving: leaving}, lines.Info{}, time.Now()))
		}
		return out
	}
	first := open(stays, 1)
	open(leaves, 3)
	g.Expect(surplusLines(registry.Lines("edge-1"))).To(BeEmpty(), "streams of before go on")
	open(stays, 1)
	g.Expect(surplusLines(registry.Lines("edge-1"))).To(BeEmpty(), "the agent takes its leave of the one before in a moment")
	open(stays, 1)
	g.Expect(surplusLines(registry.Lines("edge-1"))).To(Equal(first))
	for _, l := range first {
		registry.Ended(l, false, time.Now())
	}
	open(leaves, linesLeaving)
	g.Expect(surplusLines(registry.Lines("edge-1"))).To(HaveLen(5), "there is an end to farewells")
}
