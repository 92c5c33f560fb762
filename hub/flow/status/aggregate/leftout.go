package aggregate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/jsondepth"
)

// LeaveOut takes what a cluster reports out of an item and says why instead: the status of a
// cluster that is not fit to be read or added up harms nobody else.
func LeaveOut(item *workv1alpha2.AggregatedStatusItem, why string) {
	item.Status, item.Health = nil, workv1alpha1.Unknown
	item.AppliedMessage = leftOutPrefix + why
}

// LeftOut is a status that was found to be unfit, and why.
type LeftOut struct {
	Digest [sha256.Size]byte
	Why    string
}

// NewLeftOut returns what tells the status of an item, which has one, from others.
func NewLeftOut(item *workv1alpha2.AggregatedStatusItem, why string) LeftOut {
	return LeftOut{Digest: sha256.Sum256(item.Status.Raw), Why: why}
}

// leaveOutKnown leaves out the statuses that are known to be unfit, and no others of the same clusters.
func leaveOutKnown(items []workv1alpha2.AggregatedStatusItem, known map[string]LeftOut) {
	for i := range items {
		if of, ok := known[items[i].ClusterName]; ok && items[i].Status != nil && sha256.Sum256(items[i].Status.Raw) == of.Digest {
			LeaveOut(&items[i], of.Why)
		}
	}
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

// ByClaims returns the indexes of the items that have a status, by the largest number in it, whatever it counts, and of equals by their
// order: of clusters whose statuses cannot be added up only together, the one that claims most is the last.
func ByClaims(items []workv1alpha2.AggregatedStatusItem) []int {
	claims := make(map[int]float64, len(items))
	var out []int
	for i := range items {
		if items[i].Status != nil {
			claims[i] = largest(items[i].Status.Raw)
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(claims[a], claims[b]) })
	return out
}

// largest returns the largest number in some JSON, at any depth and by its amount; 0 if there is none.
func largest(raw []byte) float64 {
	most := 0.0
	for tokens := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := tokens.Token()
		if err != nil {
			return most
		}
		if n, ok := token.(float64); ok {
			most = max(most, math.Abs(n))
		}
	}
}

// leftOut are the clusters whose status is not added up: it is not fit for it, or there is no room for it.
func leftOut(items []workv1alpha2.AggregatedStatusItem) []string {
	var names []string
	for i := range items {
		if IsLeftOut(&items[i]) || bindings.IsTooLarge(&items[i]) {
			names = append(names, items[i].ClusterName)
		}
	}
	return names
}
