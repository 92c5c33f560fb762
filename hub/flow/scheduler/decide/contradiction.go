package decide

import (
	"fmt"
	"slices"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// maxSpreadConstraints is how many constraints a placement may have. Each is evaluated for every cluster while all other decisions wait.
// Admission rejects policies with more; those stored before it did are rejected here.
const maxSpreadConstraints = 16

// contradiction returns a sentence for the author of the policy about what is contradictory in a placement; empty if nothing is.
func contradiction(spec *workv1alpha2.ResourceBindingSpec) string {
	p := spec.Placement
	if p == nil {
		return "The binding has no placement: the policy of the template must say where it goes."
	}
	if p.ClusterAffinity != nil && len(p.ClusterAffinities) > 0 {
		return "placement.clusterAffinity and placement.clusterAffinities exclude each other: remove one of them from the policy."
	}
	if n := len(p.SpreadConstraints); n > maxSpreadConstraints {
		return fmt.Sprintf("placement.spreadConstraints has %d constraints, and may have %d: remove some of them from the policy.", n, maxSpreadConstraints)
	}
	for i := range p.SpreadConstraints {
		s := &p.SpreadConstraints[i]
		switch {
		case s.SpreadByField != "" && s.SpreadByLabel != "":
			return fmt.Sprintf("placement.spreadConstraints[%d] names both spreadByField and spreadByLabel: write two constraints in the policy.", i)
		case s.MaxGroups > 0 && s.MaxGroups < s.MinGroups:
			return fmt.Sprintf("placement.spreadConstraints[%d] has a maxGroups less than its minGroups: correct it in the policy.", i)
		}
		for j := range i {
			if o := &p.SpreadConstraints[j]; fieldOf(o) == fieldOf(s) && o.SpreadByLabel == s.SpreadByLabel {
				return fmt.Sprintf("placement.spreadConstraints[%d] and [%d] are about the same: remove one of them from the policy.", j, i)
			}
		}
	}
	strategy := assign.StrategyOf(spec)
	if strategy == assign.Duplicated || strategy == assign.StaticWeight {
		for i := range p.ClusterAffinities {
			if len(p.ClusterAffinities[i].OverflowAffinities) > 0 {
				return fmt.Sprintf("placement.clusterAffinities[%d].overflowAffinities need replicas that are divided by free capacity: "+
					"use Aggregated or dynamicWeight in the policy.", i)
			}
		}
	}
	return boundsWithoutWeights(spec, strategy)
}

// fieldOf returns the field of a spread constraint, which defaults to cluster; empty if the constraint is by label.
func fieldOf(s *policyv1alpha1.SpreadConstraint) policyv1alpha1.SpreadField {
	if s.SpreadByField == "" && s.SpreadByLabel == "" {
		return policyv1alpha1.SpreadByCluster
	}
	return s.SpreadByField
}

// withDefaults returns a spec whose spread constraints all name a field or a label; the spec itself if they already do.
func withDefaults(spec *workv1alpha2.ResourceBindingSpec) *workv1alpha2.ResourceBindingSpec {
	unnamed := func(s policyv1alpha1.SpreadConstraint) bool { return fieldOf(&s) != s.SpreadByField }
	if !slices.ContainsFunc(spec.Placement.SpreadConstraints, unnamed) {
		return spec
	}
	out, placement := *spec, *spec.Placement
	placement.SpreadConstraints = slices.Clone(placement.SpreadConstraints)
	for i := range placement.SpreadConstraints {
		placement.SpreadConstraints[i].SpreadByField = fieldOf(&placement.SpreadConstraints[i])
	}
	out.Placement = &placement
	return &out
}
