package decide

import (
	"fmt"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/scheduler/assign"
)

// group is a set of clusters to try.
type group struct {
	name     string
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
		g := group{name: terms[i].AffinityName, affinity: &terms[i].ClusterAffinity}
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
