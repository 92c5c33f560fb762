package decide

import (
	"fmt"
	"math"
	"slices"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// weigh sets the candidates' scores, tiers, weights and, where it matters, capacities.
func (a *attempt) weigh() error {
	spec := a.in.Spec
	a.candidates = slices.Grow(a.memory.candidates[:0], len(a.clusters))[:len(a.clusters)]
	a.memory.candidates = a.candidates
	for i, c := range a.clusters {
		a.candidates[i] = assign.Candidate{Cluster: c, Score: assign.ScoreOf(false), Weight: 1}
		if len(a.query.Overflow) > 0 {
			a.candidates[i].Tier = a.query.Tier(c)
		}
	}
	at, found := 0, false
	for i := range spec.Clusters {
		t := &spec.Clusters[i]
		if at, found = sortedClusters(a.clusters).find(t.Name, at); found {
			candidate := &a.candidates[at]
			candidate.Target, candidate.Assigned, candidate.Score = true, t.Replicas, assign.ScoreOf(true)
		}
	}
	if a.needsCapacity() || a.in.Explain {
		a.measure()
	}
	a.tellScores()
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

// measure sets the capacities of the candidates.
func (a *attempt) measure() {
	capacity, whole := a.capacities(), oneCluster(a.in.Spec)
	for i := range a.candidates {
		candidate, fits := &a.candidates[i], capacity(i)
		if v := a.verdict(i); v != nil {
			v.Estimated, v.Capacity = true, fits
		}
		// Old copies that still run count as available.
		available := int64(fits.Replicas) + int64(a.in.copies[candidate.Cluster.Name])
		if candidate.Target && whole {
			available++ // one set of components runs there already
		}
		candidate.Available = int32(min(available, math.MaxInt32))
	}
}

// tellScores records the scores in the verdicts.
func (a *attempt) tellScores() {
	if a.verdicts == nil {
		return
	}
	for i := range a.candidates {
		v, candidate := a.verdict(i), &a.candidates[i]
		v.Score = candidate.Score
		if a.in.Explain {
			v.Scores = assign.ScoresByPlugin(candidate.Target)
		}
	}
}

// oneCluster returns whether a workload with components goes to a single cluster, so that all of it must fit there.
func oneCluster(spec *workv1alpha2.ResourceBindingSpec) bool {
	if !bindings.HasComponents(spec) {
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
