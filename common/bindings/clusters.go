package bindings

import (
	"slices"
	"strings"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Clusters are the clusters of some targets, to be looked up by name. The zero value has none.
type Clusters struct {
	// byName are the targets, sorted.
	byName []workv1alpha2.TargetCluster
}

// ClustersOf returns the clusters of targets, which are not to be changed any more. Nothing is copied if they are sorted by name, as the
// scheduler leaves them: of thousands of clusters a decision asks for few, and a set of all would be made for each decision.
func ClustersOf(targets []workv1alpha2.TargetCluster) Clusters {
	byName := func(a, b workv1alpha2.TargetCluster) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(targets, byName) {
		targets = slices.SortedFunc(slices.Values(targets), byName)
	}
	return Clusters{targets}
}

// Has says whether a cluster is one of them.
func (c Clusters) Has(name string) bool {
	_, found := slices.BinarySearchFunc(c.byName, name, func(t workv1alpha2.TargetCluster, name string) int { return strings.Compare(t.Name, name) })
	return found
}

// First returns the names of the first clusters by name, so many at most.
func (c Clusters) First(most int) []string {
	out := make([]string, min(most, len(c.byName)))
	for i := range out {
		out[i] = c.byName[i].Name
	}
	return out
}

// Len is how many there are.
func (c Clusters) Len() int { return len(c.byName) }
