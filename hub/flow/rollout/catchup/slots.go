package catchup

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Input is the state of all rollouts of one strategy. It must contain the last written status of each, even if the cache does not show it
// yet; otherwise more than Max clusters may catch up at a time.
type Input struct {
	// Max is how many clusters may be catching up at a time; less than 1 counts as 1.
	Max int
	// Busy are the clusters that are catching up in some rollout: those that the statuses name in
	// state CatchingUp without a reason.
	Busy sets.Set[string]
	// Queue are the clusters that wait in some rollout: those in state Returning with the reason
	// fairleadv1alpha1.ClusterReasonSlot.
	Queue []Waiting
}

// Waiting is a cluster that waits for a slot.
type Waiting struct {
	// Cluster is its name. It may be in the queue more than once.
	Cluster string
	// Since is when it was heard from again.
	Since time.Time
}

// Slots returns the clusters that may be catching up now.
func Slots(in Input) sets.Set[string] {
	out := sets.Set[string]{}.Union(in.Busy)
	queue := slices.SortedFunc(slices.Values(in.Queue), func(a, b Waiting) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Cluster, b.Cluster))
	})
	for _, w := range queue {
		if out.Len() >= max(in.Max, 1) {
			break
		}
		out.Insert(w.Cluster)
	}
	return out
}
