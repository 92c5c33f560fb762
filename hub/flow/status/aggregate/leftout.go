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

// LeaveOut replaces the status of an item by the reason for leaving it out, so that a status that cannot be read or aggregated does not
// affect the other clusters.
func LeaveOut(item *workv1alpha2.AggregatedStatusItem, why string) {
	item.Status, item.Health = nil, workv1alpha1.Unknown
	item.AppliedMessage = leftOutPrefix + why
}

// LeftOut identifies a status that was found to be unfit, with the reason.
type LeftOut struct {
	Digest [sha256.Size]byte
	Why    string
}

// NewLeftOut returns the LeftOut of an item's status. The item must have one.
func NewLeftOut(item *workv1alpha2.AggregatedStatusItem, why string) LeftOut {
	return LeftOut{Digest: sha256.Sum256(item.Status.Raw), Why: why}
}

// leaveOutKnown leaves out the statuses that are known to be unfit, but no other status of the same clusters.
func leaveOutKnown(items []workv1alpha2.AggregatedStatusItem, known map[string]LeftOut) {
	for i := range items {
		if of, ok := known[items[i].ClusterName]; ok && items[i].Status != nil && sha256.Sum256(items[i].Status.Raw) == of.Digest {
			LeaveOut(&items[i], of.Why)
		}
	}
}

// leftOutPrefix begins the message of an item whose status is left out.
const leftOutPrefix = "It is applied, but the status that the cluster reports is left out: "

// IsLeftOut returns whether the status of an item is left out.
func IsLeftOut(item *workv1alpha2.AggregatedStatusItem) bool {
	return item.Applied && strings.HasPrefix(item.AppliedMessage, leftOutPrefix)
}

// unfit returns why a status must not be decoded; empty if it may be.
func unfit(status []byte) string {
	if jsondepth.Of(status) <= jsondepth.MaxStatus {
		return ""
	}
	return fmt.Sprintf("it is nested more than %d levels deep.", jsondepth.MaxStatus)
}

// ByClaims returns the indexes of the items that have a status, sorted by the largest number in it, whatever that counts, and ties by
// index. Of statuses that are unacceptable only together, the one that claims most comes last and is the first suspect.
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

// largest returns the largest absolute value of the numbers in some JSON, at any depth; 0 if there are none.
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

// leftOut returns the clusters whose status is not aggregated because it is unfit or too large.
func leftOut(items []workv1alpha2.AggregatedStatusItem) []string {
	var names []string
	for i := range items {
		if IsLeftOut(&items[i]) || bindings.IsTooLarge(&items[i]) {
			names = append(names, items[i].ClusterName)
		}
	}
	return names
}
