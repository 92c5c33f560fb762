package aggregate

import (
	"fmt"
	"strings"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/jsondepth"
)

// LeaveOut takes what a cluster reports out of an item and says why instead: the status of a
// cluster that is not fit to be read or added up harms nobody else.
func LeaveOut(item *workv1alpha2.AggregatedStatusItem, why string) {
	item.Status, item.Health = nil, workv1alpha1.Unknown
	item.AppliedMessage = leftOutPrefix + why
}

// leftOutPrefix begins the message of an item whose status is left out.
const leftOutPrefix = "It is applied, but the status that the cluster reports is left out: "

// IsLeftOut says whether the status of an item is left out.
func IsLeftOut(item *workv1alpha2.AggregatedStatusItem) bool {
	return item.Applied && strings.HasPrefix(item.AppliedMessage, leftOutPrefix)
}

// unfit says why a status is not read; empty if it may be.
func unfit(status []byte) string {
	if jsondepth.Of(status) <= jsondepth.MaxStatus {
		return ""
	}
	return fmt.Sprintf("it is nested more than %d levels deep.", jsondepth.MaxStatus)
}

// leftOut are the clusters whose status is left out.
func leftOut(items []workv1alpha2.AggregatedStatusItem) []string {
	var names []string
	for i := range items {
		if IsLeftOut(&items[i]) {
			names = append(names, items[i].ClusterName)
		}
	}
	return names
}
