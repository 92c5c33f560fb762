package aggregate

import (
	"cmp"
	"fmt"
	"slices"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/prose"
)

// Bounds of what a binding holds of its clusters, in bytes. The API server refuses an
// object of more than about 1.5 MB, and then no cluster's status would be seen.
const (
	maxStatuses = 512 << 10
	maxReasons  = 128 << 10
	maxMessages = 256 << 10
	maxMessage  = 1 << 10
)

// fit makes items small enough to be written, whatever the clusters report: messages
// are cut, and the largest statuses are left out until the others have room: with
// thousands of clusters those may be hundreds of a usual size. The Work
// has all of it.
func fit(items []workv1alpha2.AggregatedStatusItem) {
	if len(items) == 0 {
		return
	}
	fitReasons(items)
	most := min(maxMessage, maxMessages/len(items))
	total := 0
	for i := range items {
		items[i].AppliedMessage = prose.Cut(items[i].AppliedMessage, most)
		total += size(&items[i])
	}
	if total <= maxStatuses {
		return
	}
	for _, i := range largestFirst(items) {
		if total <= maxStatuses {
			break
		}
		n := size(&items[i])
		total -= n
		items[i].Status = nil
		items[i].AppliedMessage = prose.Cut(fmt.Sprintf("It is applied, but its status of %d bytes is too large to be shown here; look at the Work.", n), most)
	}
}

// largestFirst returns the indexes of items by the size of their statuses, and of equals the first one first.
func largestFirst(items []workv1alpha2.AggregatedStatusItem) []int {
	out := make([]int, len(items))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(size(&items[b]), size(&items[a])) })
	return out
}

func size(item *workv1alpha2.AggregatedStatusItem) int {
	if item.Status == nil {
		return 0
	}
	return len(item.Status.Raw)
}

// fitReasons leaves out why pods are not ready until the rest has room: first all but the first
// reason of each cluster, then those of the last clusters by name.
func fitReasons(items []workv1alpha2.AggregatedStatusItem) {
	total := 0
	for i := range items {
		total += sizeOfReasons(items[i])
	}
	if total <= maxReasons {
		return
	}
	total = 0
	for i := range items {
		items[i].PodReasons = items[i].PodReasons[:min(len(items[i].PodReasons), 1)]
		total += sizeOfReasons(items[i])
	}
	for i := len(items) - 1; i >= 0 && total > maxReasons; i-- {
		total -= sizeOfReasons(items[i])
		items[i].PodReasons = nil
	}
}

// reasonOverhead is about what a reason takes besides its texts, in bytes.
const reasonOverhead = 128

func sizeOfReasons(item workv1alpha2.AggregatedStatusItem) int {
	n := 0
	for i := range item.PodReasons {
		r := &item.PodReasons[i]
		n += reasonOverhead + len(r.Reason) + len(r.Container) + len(r.Message) + len(r.Terminated) + len(r.Pod)
	}
	return n
}
