package decide

import (
	"fmt"
	"slices"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// group is a compiled entry of clusterAffinities, or clusterAffinity.
type group struct {
	name string
	// index is its index in the placement.
	index    int
	affinity *policyv1alpha1.ClusterAffinity
	matcher  selector.ClusterMatcher
	overflow []selector.ClusterMatcher
}

// compile compiles the groups of a placement, and returns the index of the one in use: the first if observed is unknown. The error names
// the invalid part.
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
			// Only replicas that are divided by capacity can overflow.
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

// inUse returns the index of the group in use: current, or, if that does not have all targets, the first that does. They differ if an
// eviction was taken back and the application returned to where it was before.
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
