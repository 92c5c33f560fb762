// Package staging chooses which content a cluster gets of an object whose changes are rolled out
// in waves. It is pure.
//
// What several workloads need goes with each of them, and each has its own rollout: the slowest
// decides, so that no cluster gets of a dependency what one of its workloads there has not been
// admitted to.
package staging

import (
	"cmp"
	"time"

	"fairlead.dev/common/revision"
)

// Stand is what a rollout says of an object in a cluster.
type Stand int

// Values of Stand.
const (
	// Unknown : what the cluster is to have cannot be said, so that it keeps what it has.
	Unknown Stand = iota
	// Lacks : the revision that the cluster is to have has nothing of the object.
	Lacks
	// Gives : the cluster is to have Part.
	Gives
)

// Opinion is what one rollout says of an object in one cluster.
type Opinion struct {
	Stand Stand
	// Rollout names the rollout. The rest is there if it Gives.
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
	// Stay : what is there stays, and nothing is made where nothing is.
	Stay Verdict = iota
	// Live : the cluster gets the object as it is now, since no rollout knows it there.
	Live
	// Send : the cluster gets the part of the opinion.
	Send
)

// Choose decides by the opinions of all rollouts that an object follows in a cluster. Free says that
// it would be there without them, too: because of a policy of its own, or of a workload that has no
// rollout.
func Choose(opinions []Opinion, free bool) (Verdict, Opinion) {
	var slowest *Opinion
	for i := range opinions {
		o := &opinions[i]
		switch {
		case o.Stand == Unknown:
			return Stay, Opinion{}
		case o.Stand == Gives && (slowest == nil || compare(o, slowest) < 0):
			slowest = o
		}
	}
	switch {
	case slowest != nil:
		return Send, *slowest
	case free:
		return Live, Opinion{}
	default:
		return Stay, Opinion{}
	}
}

// compare says which of two has the older content.
func compare(a, b *Opinion) int {
	return cmp.Or(a.MadeAt.Compare(b.MadeAt), cmp.Compare(a.Rollout, b.Rollout))
}
