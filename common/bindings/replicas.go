package bindings

import (
	"encoding/json"
	"strings"

	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Counts are the replicas that a cluster reports. Negative numbers count as 0.
type Counts struct {
	Replicas, Ready, Updated int32
}

// CountsOf reads the replicas that a cluster reports; false if it reports none.
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

// Ready returns the number of ready replicas that a cluster reports; false if it reports none.
func Ready(item *workv1alpha2.AggregatedStatusItem) (int32, bool) {
	counts, ok := CountsOf(item)
	return counts.Ready, ok
}

// TooLargePrefix begins the message of an item whose object is applied, but whose status is too large for the
// binding.
const TooLargePrefix = "It is applied, but its status of "

// IsTooLarge returns whether an item's status was too large for the binding, so that the cluster's replicas are
// unknown.
func IsTooLarge(item *workv1alpha2.AggregatedStatusItem) bool {
	return item != nil && item.Applied && strings.HasPrefix(item.AppliedMessage, TooLargePrefix)
}
