package decide

import (
	"fmt"
	"math"
	"slices"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/assign"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// weigh scores the candidates and says what fits into them, as far as that matters.
func (a *attempt) weigh() error {
	spec := a.in.Spec
	if a.refused != nil {
		a.in.Memo.candidates = slices.Grow(a.in.Memo.candidates[:0], len(a.clusters))
		a.candidates = a.in.Memo.candidates[:len(a.clusters)]
	} else {
		a.candidates = make([]assign.Candidate, len(a.clusters))
	}
	assigned := make(map[string]int32, len(spec.Clusters))
	for _, t := range spec.Clusters {
		assigned[t.Name] = t.Replicas
	}
	estimated := a.needsCapacity() || a.in.Explain
	var capacity func(i int) fit.Capacity
	if estimated {
		capacity = a.capacities()
	}
	for i, c := range a.clusters {
		v, candidate := &a.verdicts[a.at[i]], &a.candidates[i]
		replicas, target := assigned[c.Name]
		v.Score = assign.ScoreOf(target)
		if a.in.Explain {
			v.Scores = assign.ScoresByPlugin(target)
		}
		*candidate = assign.Candidate{Cluster: c, Score: v.Score, Weight: 1, Assigned: replicas, Target: target}
		if len(a.query.Overflow) > 0 {
			candidate.Tier = a.query.Tier(c)
		}
		if estimated {
			v.Estimated, v.Capacity = true, capacity(i)
			// What runs there still has its room.
			available := int64(v.Capacity.Replicas) + int64(a.in.copies[c.Name])
			if target && oneCluster(spec) {
				available++ // what runs there is one set, and fits
			}
			candidate.Available = int32(min(available, math.MaxInt32))
		}
	}
	if a.strategy != assign.StaticWeight {
		return nil
	}
	if err := a.bound(); err != nil {
		return err
	}
	if spec.Placement.ReplicaScheduling.WeightPreference == nil {
		return nil
	}
	weights, err := assign.Weights(spec.Placement.ReplicaScheduling.WeightPreference, a.clusters)
	for i := range weights {
		a.candidates[i].Weight = weights[i]
	}
	if err != nil {
		return fmt.Errorf("weightPreference: %w", err)
	}
	return nil
}

// oneCluster says whether a workload of several components goes to one cluster as a
// whole, so that all of it must fit there.
func oneCluster(spec *workv1alpha2.ResourceBindingSpec) bool {
	if len(spec.Components) < 2 {
		return false
	}
	for _, s := range spec.Placement.SpreadConstraints {
		if s.SpreadByField == policyv1alpha1.SpreadByCluster && s.MaxGroups == 1 {
			return true
		}
	}
	return false
}

func (a *attempt) needsCapacity() bool {
	return assign.ByCapacity(a.strategy) || oneCluster(a.in.Spec) ||
		a.strategy == assign.Duplicated && len(a.in.Spec.Placement.SpreadConstraints) > 0
}

// capacity is how much fits into a cluster to which so much was assigned that it does not report yet.
func (a *attempt) capacity(c *clusterv1alpha1.Cluster, assumed fit.Assumed, namespace string) fit.Capacity {
	if len(a.in.Spec.Components) > 1 {
		return fit.Sets(c, assumed, namespace, a.in.Spec.Components)
	}
	return fit.Replicas(c, assumed, namespace, a.in.Spec.ReplicaRequirements)
}
