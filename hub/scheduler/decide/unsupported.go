package decide

import (
	"fmt"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/scheduler/assign"
)

// unsupported says what of a placement this scheduler cannot do, in a sentence for
// the author of the policy; nothing if it can do all. It never does half of what was
// asked for.
func unsupported(spec *workv1alpha2.ResourceBindingSpec) string {
	p := spec.Placement
	if p == nil {
		return "The binding has no placement: the policy of the template must say where it goes."
	}
	if p.ClusterAffinity != nil && len(p.ClusterAffinities) > 0 {
		return "placement.clusterAffinity and placement.clusterAffinities exclude each other: remove one of them from the policy."
	}
	if len(p.SpreadConstraints) > 0 {
		return notSupported("placement.spreadConstraints")
	}
	if p.WorkloadAffinity != nil {
		return notSupported("placement.workloadAffinity")
	}
	for i := range p.ClusterAffinities {
		if len(p.ClusterAffinities[i].OverflowAffinities) > 0 {
			return notSupported(fmt.Sprintf("placement.clusterAffinities[%d].overflowAffinities", i))
		}
	}
	switch assign.StrategyOf(spec) {
	case assign.Aggregated:
		return notSupported("placement.replicaScheduling.replicaDivisionPreference: Aggregated")
	case assign.DynamicWeight:
		return notSupported("placement.replicaScheduling.weightPreference.dynamicWeight")
	default:
		return ""
	}
}

func notSupported(field string) string {
	return field + " is not supported by this scheduler: remove it from the policy, or name another scheduler in spec.schedulerName."
}
