package decide

import (
	"fmt"
	"slices"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// group is a set of clusters to try.
type group struct {
	name string
	// index is that in the placement.
	index    int
	affinity *policyv1alpha1.ClusterAffinity
	matcher  selector.ClusterMatcher
	overflow []selector.ClusterMatcher
}

// compile makes the groups of a placement ready, and says which of them is in use:
// the first if none is known. The error names the part that cannot be read.
func compile(spec *workv1alpha2.ResourceBindingSpec, observed string) ([]group, int, error) {
	terms := spec.Placement.ClusterAffinities
	if len(terms) == 0 {
		a := spec.Placement.ClusterAffinity
		matcher, err := selector.CompileCluster(a)
		if err != nil {
			return nil, 0, fmt.Errorf("clusterAffinity: %w", err)
		}
		return []group{{affinity: a, matcher: matcher}}, 0, nil
	}
	shared := assign.ByCapacity(assign.StrategyOf(spec))
	current := 0
	out := make([]group, len(terms))
	for i := range terms {
		g := group{name: terms[i].AffinityName, index: i, affinity: &terms[i].ClusterAffinity}
		var err error
		if g.matcher, err = selector.CompileCluster(g.affinity); err != nil {
			return nil, 0, fmt.Errorf("clusterAffinities[%d]: %w", i, err)
		}
		for j := range terms[i].OverflowAffinities {
			matcher, err := selector.CompileCluster(&terms[i].OverflowAffinities[j].ClusterAffinity)
			if err != nil {
				return nil, 0, fmt.Errorf("clusterAffinities[%d].overflowAffinities[%d]: %w", i, j, err)
			}
			// Only what is shared by what fits can overflow.
			if shared {
				g.overflow = append(g.overflow, matcher)
			}
		}
		if g.name == observed {
			current = i
		}
		out[i] = g
	}
	return out, current, nil
}

// inUse returns the group that has all targets, should the one that is said to be in use not
// have them: an eviction was taken back, and with it the application to where it was before.
func inUse(in Input, groups []group, current int) int {
	if len(groups) == 1 || len(in.Spec.Clusters) == 0 {
		return current
	}
	clusters := sortedClusters(in.Clusters)
	has := func(i int) bool {
		q := queryOf(&in, groups[i])
		return !slices.ContainsFunc(in.Spec.Clusters, func(t workv1alpha2.TargetCluster) bool {
			c := clusters.named(t.Name)
			return c == nil || q.Tier(c) < 0
		})
	}
	if has(current) {
		return current
	}
	for i := range groups {
		if has(i) {
			return i
		}
	}
	return current
}
