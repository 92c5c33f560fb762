package bindings

import (
	"encoding/json"
	"strings"

	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Counts are the replicas that a cluster reports. Less than none is none.
type Counts struct {
	Replicas, Ready, Updated int32
}

// CountsOf reads the replicas that a cluster reports, and says whether it counts any.
func CountsOf(item *workv1alpha2.AggregatedStatusItem) (Counts, bool) {
	if item == nil || item.Status == nil {
		return Counts{}, false
	}
	var counts struct {
		Replicas        *int32 `json:"replicas"`
		ReadyReplicas   *int32 `json:"readyReplicas"`
		UpdatedReplicas *int32 `json:"updatedReplicas"`
	}
	if err := json.Unmarshal(item.Status.Raw, &counts); err != nil || (counts.Replicas == nil && counts.ReadyReplicas == nil) {
		return Counts{}, false
	}
	atLeastNone := func(n *int32) int32 { return max(0, ptr.Deref(n, 0)) }
	return Counts{
		Replicas: atLeastNone(counts.Replicas), Ready: atLeastNone(counts.ReadyReplicas), Updated: atLeastNone(counts.UpdatedReplicas),
	}, true
}

// Ready returns how many replicas a cluster reports as ready, and whether it counts any.
func Ready(item *workv1alpha2.AggregatedStatusItem) (int32, bool) {
	counts, ok := CountsOf(item)
	return counts.Ready, ok
}

// TooLargePrefix begins the message of an item that is applied, and for whose status there is no room among those of the binding.
const TooLargePrefix = "It is applied, but its status of "

// IsTooLarge says whether there is no room for the status of an item: what the cluster counts is not known then.
func IsTooLarge(item *workv1alpha2.AggregatedStatusItem) bool {
	return item != nil && item.Applied && strings.HasPrefix(item.AppliedMessage, TooLargePrefix)
}
