package staging

import (
	"cmp"
	"time"

	"fairlead.dev/common/revision"
)

// State says what the wanted revision of a cluster contains of an object.
type State int

// Values of State.
const (
	// Unknown : the wanted revision of the cluster is not known, so it keeps its content.
	Unknown State = iota
	// Absent : the revision does not contain the object.
	Absent
	// Present : the revision contains the object, as Part.
	Present
)

// Candidate is the content that one rollout has of an object for one cluster.
type Candidate struct {
	State State
	// Rollout names the rollout. It and the following fields are set if State is Present.
	Rollout string
	// ID is the wanted revision of the cluster.
	ID revision.ID
	// MadeAt is when its content was read.
	MadeAt time.Time
	// Part is its content of the object.
	Part revision.Part
}

// Verdict is what to do about an object in a cluster.
type Verdict int

// Values of Verdict.
const (
	// Keep : an existing Work stays as it is, and none is created.
	Keep Verdict = iota
	// Live : the cluster gets the present object, because it has it independently of any rollout.
	Live
	// Send : the cluster gets the part of the candidate.
	Send
)

// Choose decides by the candidates of all rollouts that an object follows in a cluster. Independent says that the cluster would have the
// object without them, too: by a policy of its own, or because of a workload without a rollout.
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

// compare returns which of two candidates has the older content.
func compare(a, b *Candidate) int {
	return cmp.Or(a.MadeAt.Compare(b.MadeAt), cmp.Compare(a.Rollout, b.Rollout))
}
