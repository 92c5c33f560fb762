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

// Bounds of the parts of a binding's status, in bytes. The API server rejects an object of more than about 1.5 MB, and then the status of
// no cluster would be written.
const (
	maxStatuses = 512 << 10
	// maxAdded bounds the statuses that are aggregated for the template, because the memory of a script is limited. They are not written.
	maxAdded    = 2 << 20
	maxReasons  = 128 << 10
	maxMessages = 256 << 10
	maxMessage  = 1 << 10
)

// fitTexts shortens the messages and pod reasons of items so that they can be written, whatever the clusters report.
func fitTexts(items []workv1alpha2.AggregatedStatusItem) {
	fitReasons(items)
	for i := range items {
		items[i].AppliedMessage = prose.Cut(items[i].AppliedMessage, longestMessage(items))
	}
}

// longestMessage returns how long the message of an item may be, in bytes.
func longestMessage(items []workv1alpha2.AggregatedStatusItem) int {
	return min(maxMessage, maxMessages/max(len(items), 1))
}

// fitStatuses removes the largest statuses until the rest takes at most so many bytes. With thousands of clusters it may remove hundreds
// of ordinary size; the Works have them all. It returns the removed statuses by index.
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

// tooLarge is the message of an item whose status does not fit.
const tooLarge = bindings.TooLargePrefix + "%d bytes is too large to be shown here; look at the Work."

// digest returns a hash of statuses and their indexes; empty if there are none.
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

// largestFirst returns the indexes of items sorted by the size of their statuses, largest first and ties by index.
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

// fitReasons removes pod reasons until the rest fits: first all but the first reason of each cluster, then those of the last clusters
// by name.
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

// reasonOverhead is roughly the size of a reason besides its texts, in bytes.
const reasonOverhead = 128

func sizeOfReasons(item workv1alpha2.AggregatedStatusItem) int {
	n := 0
	for i := range item.PodReasons {
		r := &item.PodReasons[i]
		n += reasonOverhead + len(r.Reason) + len(r.Container) + len(r.Message) + len(r.Terminated) + len(r.Pod)
	}
	return n
}
