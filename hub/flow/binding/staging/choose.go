package staging

import (
	"cmp"
	"time"

	"fairlead.dev/common/revision"
)

// State is what the revision of a rollout that a cluster is to have has of an object.
type State int

// Values of State.
const (
	// Unknown : which revision the cluster is to have cannot be said, so that it keeps what it has.
	Unknown State = iota
	// Absent : the revision has nothing of the object.
	Absent
	// Present : the revision has Part of it.
	Present
)

// Candidate is the content that one rollout has of an object for one cluster.
type Candidate struct {
	State State
	// Rollout names the rollout. The rest is there if the content is Present.
	Rollout string
	// ID is the revision that the cluster is to have.
	ID revision.ID
	// MadeAt is when its content was read.
	MadeAt time.Time
	// Part is what it has of the object.
	Part revision.Part
}

// Verdict is what is done about an object in a cluster.
type Verdict int

// Values of Verdict.
const (
	// Keep : what is there stays, and nothing is made where nothing is.
	Keep Verdict = iota
	// Live : the cluster gets the object as it is now, since no rollout knows it there.
	Live
	// Send : the cluster gets the part of the candidate.
	Send
)

// Choose decides by the candidates of all rollouts that an object follows in a cluster. Independent says
// that it would be there without them, too: because of a policy of its own, or of a workload that has
// no rollout.
func Choose(candidates []Candidate, independent bool) (Verdict, Candidate) {
	var slowest *Candidate
	for i := range candidates {
		c := &candidates[i]
		switch {
		case c.State == Unknown:
			return Keep, Candidate{}
		case c.State == Present && (slowest == nil || compare(c, slowest) < 0):
			slowest = c
		}
	}
	switch {
	case slowest != nil:
		return Send, *slowest
	case independent:
		return Live, Candidate{}
	default:
		return Keep, Candidate{}
	}
}

// compare says which of two has the older content.
func compare(a, b *Candidate) int {
	return cmp.Or(a.MadeAt.Compare(b.MadeAt), cmp.Compare(a.Rollout, b.Rollout))
}
