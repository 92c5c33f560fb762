package decide

import (
	"fmt"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// bounded returns whether replicaBounds of the placement apply: only static weights use them.
func (a *attempt) bounded() bool {
	return a.strategy == assign.StaticWeight && len(a.in.Spec.Placement.ReplicaScheduling.ReplicaBounds) > 0
}

// bound sets the bounds of the candidates.
func (a *attempt) bound() error {
	if !a.bounded() {
		return nil
	}
	bounds, err := assign.Bounds(a.in.Spec.Placement.ReplicaScheduling.ReplicaBounds, a.clusters)
	for i := range bounds {
		a.candidates[i].Bounds = bounds[i]
	}
	return err
}

// boundOf names the bound that a share has reached; empty if none.
func boundOf(c *assign.Candidate, share int32) string {
	switch {
	case share >= c.Bounds.Max:
		return fmt.Sprintf("maxReplicas %d", c.Bounds.Max)
	case share == c.Bounds.Min:
		return fmt.Sprintf("minReplicas %d", c.Bounds.Min)
	default:
		return ""
	}
}

// unplaced returns a message with the number of replicas that are placed nowhere because every cluster has its maximum; empty if all are
// placed.
func unplaced(spec *workv1alpha2.ResourceBindingSpec, targets []workv1alpha2.TargetCluster) string {
	if assign.StrategyOf(spec) != assign.StaticWeight {
		return ""
	}
	rest := int64(spec.Replicas) - total(targets)
	if rest <= 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d replicas are placed nowhere: every cluster that fits has its maxReplicas. "+
		"Raise a maximum of replicaBounds in the policy, or add a cluster.", rest, spec.Replicas)
}

// boundsWithoutWeights returns an error message for replicaBounds with a strategy that does not support them; empty if there is none.
func boundsWithoutWeights(spec *workv1alpha2.ResourceBindingSpec, strategy assign.Strategy) string {
	r := spec.Placement.ReplicaScheduling
	if r == nil || len(r.ReplicaBounds) == 0 || strategy == assign.StaticWeight || strategy == assign.Everywhere {
		return ""
	}
	return "placement.replicaScheduling.replicaBounds need replicas that are divided by static weights: " +
		"use Divided and Weighted without dynamicWeight in the policy, or remove the bounds."
}
