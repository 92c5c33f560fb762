package explain

import (
	"fmt"
	"slices"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/evictions"
)

// Moves returns the evictions of an application, the newest first, and what each in progress waits for.
func Moves(b workv1alpha2.Binding) []Move {
	past := evictions.Of(b)
	out := make([]Move, 0, len(past))
	for i := range slices.Backward(past) {
		e := &past[i]
		m := Move{From: e.From, To: e.To, At: e.At, Because: e.Message, Ended: e.Ended, How: e.How}
		if e.Ended == nil {
			m.To = evictions.Gained(e, b.BindingSpec().Clusters)
			m.Waiting = waiting(b, e, m.To)
		}
		out = append(out, m)
	}
	return out
}

// waiting says what the end of an eviction waits for.
func waiting(b workv1alpha2.Binding, e *workv1alpha2.Eviction, to []string) string {
	if e.Before == nil {
		return "waiting for it to be healthy in all of its clusters, because the hub does not know which of them took its place"
	}
	if len(to) == 0 {
		return "no cluster has taken its place yet"
	}
	before := map[string]int32{}
	for _, t := range e.Before {
		before[t.Name] = t.Replicas
	}
	var want, lack int32
	for _, t := range b.BindingSpec().Clusters {
		if !slices.Contains(to, t.Name) {
			continue
		}
		more := t.Replicas - before[t.Name]
		want += more
		lack += min(more, max(0, t.Replicas-readyIn(b.BindingStatus(), t.Name)))
	}
	switch {
	case want == 0:
		return "waiting for it to be healthy there"
	case lack > 0:
		return fmt.Sprintf("waiting for %d of %d replicas", lack, want)
	default:
		return "its replicas are ready; see condition Evicting for what is missing"
	}
}

// readyIn returns how many replicas a cluster reports as ready; 0 if the report is stale.
func readyIn(status *workv1alpha2.ResourceBindingStatus, cluster string) int32 {
	for i := range status.AggregatedStatus {
		if item := &status.AggregatedStatus[i]; item.ClusterName == cluster && item.StaleSince == nil {
			ready, _ := bindings.Ready(item)
			return ready
		}
	}
	return 0
}
