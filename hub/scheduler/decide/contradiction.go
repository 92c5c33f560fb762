package decide

import (
	"fmt"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/scheduler/assign"
)

// contradiction says what of a placement cannot be meant, in a sentence for the
// author of the policy; nothing if all can.
func contradiction(spec *workv1alpha2.ResourceBindingSpec) string {
	p := spec.Placement
	if p == nil {
		return "The binding has no placement: the policy of the template must say where it goes."
	}
	if p.ClusterAffinity != nil && len(p.ClusterAffinities) > 0 {
		return "placement.clusterAffinity and placement.clusterAffinities exclude each other: remove one of them from the policy."
	}
	for i := range p.SpreadConstraints {
		s := &p.SpreadConstraints[i]
		switch {
		case (s.SpreadByField == "") == (s.SpreadByLabel == ""):
			return fmt.Sprintf("placement.spreadConstraints[%d] must name either spreadByField or spreadByLabel: correct it in the policy.", i)
		case s.MaxGroups > 0 && s.MaxGroups < s.MinGroups:
			return fmt.Sprintf("placement.spreadConstraints[%d] has a maxGroups less than its minGroups: correct it in the policy.", i)
		}
		for j := range i {
			if o := &p.SpreadConstraints[j]; o.SpreadByField == s.SpreadByField && o.SpreadByLabel == s.SpreadByLabel {
				return fmt.Sprintf("placement.spreadConstraints[%d] and [%d] are about the same: remove one of them from the policy.", j, i)
			}
		}
	}
	strategy := assign.StrategyOf(spec)
	if strategy == assign.Duplicated || strategy == assign.StaticWeight {
		for i := range p.ClusterAffinities {
			if len(p.ClusterAffinities[i].OverflowAffinities) > 0 {
				return fmt.Sprintf("placement.clusterAffinities[%d].overflowAffinities need replicas that are shared by what fits: "+
					"use Aggregated or dynamicWeight in the policy.", i)
			}
		}
	}
	return ""
}
