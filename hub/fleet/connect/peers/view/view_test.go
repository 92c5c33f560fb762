package view

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers/wire"
)

func second(s int) time.Time { return time.Date(2026, 11, 23, 8, 0, s, 0, time.UTC) }

func up(cluster string, since time.Time) lines.State {
	return lines.State{Cluster: cluster, Up: true, Since: since, Info: lines.Info{Presence: contract.LineIsPresence}}
}

func lost(s lines.State, at time.Time, goodbye bool) lines.State {
	s.Up, s.Lost, s.Goodbye = false, at, goodbye
	return s
}

// hear passes a replica the messages of another.
func hear(t *testing.T, r *Replica, messages []wire.Message, now time.Time) []string {
	t.Helper()
	var changed []string
	for _, m := range messages {
		clusters, err := r.Apply(m, now)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		changed = append(changed, clusters...)
	}
	return changed
}

func TestAReplicaIsToldWhatAnotherKnows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var told Updates
	r := &Replica{ID: "hub-1"}
	r.Begin()
	states := []lines.State{up("edge-1", second(1)), lost(up("edge-2", second(0)), second(2), false)}
	first := told.Next(states, second(10))
	// The clock of the other replica is an hour behind.
	late := func(at time.Time) time.Time { return at.Add(-time.Hour) }
	g.Expect(hear(t, r, first, late(second(10)))).To(BeEmpty(), "it counts when it is complete")
	g.Expect(r.Synced()).To(BeFalse())
	g.Expect(hear(t, r, []wire.Message{{Synced: true}}, late(second(10)))).To(Equal([]string{"edge-1", "edge-2"}))
	g.Expect(r.Synced()).To(BeTrue())
	want := states
	want[0].Since, want[1].Since, want[1].Lost = late(want[0].Since), late(want[1].Since), late(want[1].Lost)
	g.Expect(r.States()).To(Equal(want), "by its own clock")

	states = []lines.State{up("edge-1", second(1)), lost(up("edge-2", second(0)), second(2), false)}
	g.Expect(told.Next(states, second(11))).To(BeEmpty(), "nothing has changed")
	states[0] = lost(states[0], second(12), true)
	g.Expect(hear(t, r, told.Next(states[:1], second(12)), second(12))).To(Equal([]string{"edge-1", "edge-2"}))
	g.Expect(r.States()).To(Equal(states[:1]), "the other cluster was forgotten")
}

func TestALostReplicaIsNoLostMember(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &Replica{ID: "hub-1"}
	r.Begin()
	var told Updates
	states := []lines.State{up("edge-1", second(0)), lost(up("edge-2", second(0)), second(1), false), up("edge-3", second(0))}
	hear(t, r, append(told.Next(states, second(1)), wire.Message{Synced: true}), second(1))

	g.Expect(r.Lose(second(6))).To(Equal([]string{"edge-1", "edge-3"}))
	g.Expect(r.Synced()).To(BeFalse())
	g.Expect(r.States()).To(Equal([]lines.State{
		lost(up("edge-1", second(0)), second(6), true), states[1], lost(up("edge-3", second(0)), second(6), true),
	}), "as after a goodbye: they have time to show up elsewhere")
	g.Expect(r.Lose(second(7))).To(BeEmpty())

	// The network was down while the lines stayed up; one has ended meanwhile and is no longer listed by the other
	// replica.
	r.Begin()
	again := Updates{}
	slow := second(8).Add(300 * time.Millisecond) // it is still the same line
	hear(t, r, append(again.Next([]lines.State{up("edge-1", second(0))}, second(8)), wire.Message{Synced: true}), slow)
	g.Expect(r.States()).To(Equal([]lines.State{
		up("edge-1", second(0)), states[1], lost(up("edge-3", second(0)), second(6), true),
	}))
	g.Expect(r.Forget(second(1).Add(keepLost))).To(BeTrue())
	g.Expect(r.States()).To(HaveLen(3))
	g.Expect(r.Forget(second(7).Add(keepLost))).To(BeTrue())
	g.Expect(r.States()).To(HaveLen(1), "ends of lines are remembered for a while")
	r.Lose(second(9))
	g.Expect(r.Forget(second(10).Add(keepLost))).To(BeFalse(), "nothing is left of that replica")
}

func TestSessionsOfAnotherReplica(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	session := func(n int) string { return fmt.Sprintf("%064x", n) }
	of := func(s lines.State, session string) lines.State { s.Session = session; return s }
	r := &Replica{ID: "hub-1"}
	r.Begin()
	var told Updates
	states := []lines.State{of(up("edge-1", second(0)), session(1)), of(lost(up("edge-2", second(0)), second(1), false), session(2)), up("edge-3", second(0))}
	hear(t, r, append(told.Next(states, second(1)), wire.Message{Synced: true}), second(1))
	g.Expect(r.States()).To(Equal(states))
	g.Expect(r.Session("edge-1", second(1))).To(Equal(session(1)))
	g.Expect(r.Session("edge-2", second(1))).To(BeEmpty(), "its line has ended")
	g.Expect(r.Session("edge-3", second(1))).To(BeEmpty(), "a replica of before does not tell it")
	g.Expect(r.Session("edge-4", second(1))).To(BeEmpty())

	states[0].Session = session(4)
	g.Expect(hear(t, r, told.Next(states, second(2)), second(2))).To(Equal([]string{"edge-1"}))
	g.Expect(r.Session("edge-1", second(2))).To(Equal(session(4)), "another agent has it")

	r.Lose(second(6))
	r.Lose(second(9)) // a call that failed
	g.Expect(r.Session("edge-1", second(20))).To(Equal(session(4)), "it may be there")
	g.Expect(r.Session("edge-1", second(21))).To(BeEmpty(), "but not for ever")
	g.Expect(r.Session("edge-2", second(7))).To(BeEmpty())

	r.Begin()
	hear(t, r, []wire.Message{{Synced: true}}, second(8))
	g.Expect(r.Session("edge-1", second(8))).To(BeEmpty(), "it has ended meanwhile")
}

func TestAReplicaHasNoMoreLinesThanItCan(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &Replica{ID: "hub-1"}
	var err error
	for i := 0; err == nil && i <= wire.MaxLines; i++ {
		_, err = r.Apply(wire.Message{Lines: []wire.Line{{Cluster: fmt.Sprintf("c-%d", i), Up: true}}}, second(0))
	}
	g.Expect(err).To(MatchError(ErrTooMany))
}

func TestMerge(t *testing.T) {
	t.Parallel()
	old, young := Line{up("edge-1", second(1)), "hub-1"}, Line{up("edge-1", second(2)), "hub-2"}
	ended := Line{lost(up("edge-1", second(1)), second(9), false), "hub-3"}
	endedFirst := Line{lost(up("edge-1", second(3)), second(8), true), "hub-4"}
	for name, test := range map[string]struct {
		said []Line
		want Line
	}{
		"the only one":                               {[]Line{old}, old},
		"of lines that are up the newest":            {[]Line{old, young}, young},
		"in any order":                               {[]Line{young, old}, young},
		"one that is up before one that ended later": {[]Line{ended, old, endedFirst}, old},
		"of ends the last":                           {[]Line{ended, endedFirst}, ended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, known := Merge(test.said...)
			NewWithT(t).Expect(known).To(BeTrue())
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
	_, known := Merge()
	NewWithT(t).Expect(known).To(BeFalse())
}

func TestPresence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		elected bool
		heard   time.Time
		want    string
	}{
		"the replica that works has the lines":    {true, time.Time{}, contract.LineIsPresence},
		"one that has never heard of the leader":  {false, time.Time{}, contract.LeaseIsPresence},
		"one whose lines the leader has":          {false, second(16), contract.LineIsPresence},
		"one that has not heard it for 5 seconds": {false, second(15), contract.LeaseIsPresence},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Presence(test.elected, test.heard, second(20))).To(Equal(test.want))
		})
	}
}
