package scheduler

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/flow/scheduler/hints"
	"fairlead.dev/test/builder"
)

func TestChangesAreLookedAtTogether(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	change := func(cluster string) hints.Change {
		return hints.Change{Event: hints.Feasibility, After: builder.MakeCluster(cluster).Obj()}
	}
	var c changes
	g.Expect(c.note(nil, change("edge-1"))).To(BeTrue(), "the first has a look asked for")
	g.Expect(c.note(nil, change("edge-2"))).To(BeFalse(), "the second is looked at with it")
	noted, _ := c.take()
	g.Expect(noted).To(HaveLen(2))
	noted, _ = c.take()
	g.Expect(noted).To(BeEmpty(), "each is looked at once")
	g.Expect(c.note(nil, change("edge-1"))).To(BeTrue(), "what comes after a look needs another one")
}
