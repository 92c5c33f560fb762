package decide

import (
	"slices"
	"strings"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// sorted returns the clusters sorted by name; the slice itself if it is sorted already.
func sorted(clusters []*clusterv1alpha1.Cluster) []*clusterv1alpha1.Cluster {
	byName := func(a, b *clusterv1alpha1.Cluster) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(clusters, byName) {
		return clusters
	}
	return slices.SortedFunc(slices.Values(clusters), byName)
}

// sortedClusters finds clusters by name.
type sortedClusters []*clusterv1alpha1.Cluster

// named returns the cluster of a name; nil if there is none.
func (s sortedClusters) named(name string) *clusterv1alpha1.Cluster {
	if i, found := s.find(name, 0); found {
		return s[i]
	}
	return nil
}

// find returns the index of the cluster of a name, or where it would be inserted. It searches by doubling steps from near on, so that a
// caller that looks for many sorted names, each from where the previous was found, visits each cluster about once.
func (s sortedClusters) find(name string, near int) (int, bool) {
	compare := func(c *clusterv1alpha1.Cluster, name string) int { return strings.Compare(c.Name, name) }
	if near >= len(s) || s[near].Name > name {
		return slices.BinarySearchFunc(s, name, compare)
	}
	step := 1
	for ; near+step < len(s) && s[near+step].Name <= name; step *= 2 {
		near += step
	}
	i, found := slices.BinarySearchFunc(s[near:min(near+step, len(s))], name, compare)
	return near + i, found
}
