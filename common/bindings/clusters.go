package bindings

import (
	"slices"
	"strings"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Clusters looks up targets by cluster name. The zero value is empty.
type Clusters struct {
	// byName are the targets, sorted by name.
	byName []workv1alpha2.TargetCluster
}

// ClustersOf returns the Clusters of targets, which must not be changed afterwards. Targets that are sorted by name,
// as the scheduler leaves them, are not copied: a decision looks up a few of thousands of clusters, and should not
// build a set for that.
func ClustersOf(targets []workv1alpha2.TargetCluster) Clusters {
	byName := func(a, b workv1alpha2.TargetCluster) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(targets, byName) {
		targets = slices.SortedFunc(slices.Values(targets), byName)
	}
	return Clusters{targets}
}

// Has returns whether a cluster is a target.
func (c Clusters) Has(name string) bool {
	_, found := slices.BinarySearchFunc(c.byName, name, func(t workv1alpha2.TargetCluster, name string) int { return strings.Compare(t.Name, name) })
	return found
}

// First returns the first names in order, up to a maximum.
func (c Clusters) First(most int) []string {
	out := make([]string, min(most, len(c.byName)))
	for i := range out {
		out[i] = c.byName[i].Name
	}
	return out
}

// Len returns the number of clusters.
func (c Clusters) Len() int { return len(c.byName) }
