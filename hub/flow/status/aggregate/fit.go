package aggregate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/prose"
)

// Bounds of what a binding holds of its clusters, in bytes. The API server refuses an
// object of more than about 1.5 MB, and then no cluster's status would be seen.
const (
	maxStatuses = 512 << 10
	// maxAdded bounds the statuses that are added up, which is not written: a script for it has so much memory only.
	maxAdded    = 2 << 20
	maxReasons  = 128 << 10
	maxMessages = 256 << 10
	maxMessage  = 1 << 10
)

// fitTexts makes what items say of errors and pods small enough to be written, whatever the clusters report.
func fitTexts(items []workv1alpha2.AggregatedStatusItem) {
	fitReasons(items)
	for i := range items {
		items[i].AppliedMessage = prose.Cut(items[i].AppliedMessage, longestMessage(items))
	}
}

// longestMessage is how long the message of an item may be.
func longestMessage(items []workv1alpha2.AggregatedStatusItem) int {
	return min(maxMessage, maxMessages/max(len(items), 1))
}

// fitStatuses leaves out the largest statuses until the others have room in a number of bytes: with thousands of clusters those
// may be hundreds of a usual size. The Work has all of it. It returns what was left out, by index.
func fitStatuses(items []workv1alpha2.AggregatedStatusItem, most int) map[int]*runtime.RawExtension {
	total := 0
	for i := range items {
		total += size(&items[i])
	}
	if total <= most {
		return nil
	}
	out := map[int]*runtime.RawExtension{}
	for _, i := range largestFirst(items) {
		if total <= most {
			break
		}
		n := size(&items[i])
		total -= n
		out[i], items[i].Status = items[i].Status, nil
		items[i].AppliedMessage = prose.Cut(fmt.Sprintf(tooLarge, n), longestMessage(items))
	}
	return out
}

// tooLarge is the message of an item whose status has no room.
const tooLarge = bindings.TooLargePrefix + "%d bytes is too large to be shown here; look at the Work."

// digest tells statuses from others; empty if there are none.
func digest(statuses map[int]*runtime.RawExtension) string {
	if len(statuses) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, i := range slices.Sorted(maps.Keys(statuses)) {
		_, _ = fmt.Fprintf(sum, "%d %d ", i, len(statuses[i].Raw)) // a hash never fails
		_, _ = sum.Write(statuses[i].Raw)
	}
	return hex.EncodeToString(sum.Sum(nil)[:10])
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
