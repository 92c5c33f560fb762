package assign

import (
	"fmt"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/division"
	"fairlead.dev/common/selector"
)

// Strategy is how replicas are assigned.
type Strategy string

// Strategies.
const (
	// Everywhere : every cluster gets the object; there are no replicas to assign.
	Everywhere Strategy = "Everywhere"
	// Duplicated : every cluster gets all replicas.
	Duplicated Strategy = "Duplicated"
	// StaticWeight : replicas are shared in proportion to fixed weights.
	StaticWeight Strategy = "StaticWeight"
	// DynamicWeight : replicas are shared by what fits into the clusters.
	DynamicWeight Strategy = "DynamicWeight"
	// Aggregated : replicas are packed into as few clusters as possible.
	Aggregated Strategy = "Aggregated"
)

// StrategyOf returns how the replicas of a binding are to be assigned. A workload with
// no replicas is an object like any other: it goes everywhere, ready to be scaled up.
func StrategyOf(spec *workv1alpha2.ResourceBindingSpec) Strategy {
	if spec.Replicas <= 0 || len(spec.Components) > 1 {
		return Everywhere
	}
	if spec.Placement == nil || spec.Placement.ReplicaScheduling == nil {
		return Duplicated
	}
	s := spec.Placement.ReplicaScheduling
	switch {
	case s.ReplicaSchedulingType == policyv1alpha1.Duplicated:
		return Duplicated
	case s.ReplicaDivisionPreference == policyv1alpha1.Aggregated:
		return Aggregated
	case s.WeightPreference != nil && s.WeightPreference.DynamicWeight != "":
		return DynamicWeight
	default:
		return StaticWeight
	}
}

// Replicas assigns the replicas of a binding to candidates, which are sorted by name.
// A cluster whose share is 0 is no target, unless there is nothing to share.
func Replicas(spec *workv1alpha2.ResourceBindingSpec, candidates []*clusterv1alpha1.Cluster) ([]workv1alpha2.TargetCluster, error) {
	switch strategy := StrategyOf(spec); strategy {
	case Everywhere:
		return every(candidates, 0), nil
	case Duplicated:
		return every(candidates, spec.Replicas), nil
	case StaticWeight:
		return weighted(spec, candidates)
	default:
		return nil, fmt.Errorf("strategy %s is not supported", strategy)
	}
}

func every(candidates []*clusterv1alpha1.Cluster, replicas int32) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, len(candidates))
	for i, c := range candidates {
		out[i] = workv1alpha2.TargetCluster{Name: c.Name, Replicas: replicas}
	}
	return out
}

func weighted(spec *workv1alpha2.ResourceBindingSpec, candidates []*clusterv1alpha1.Cluster) ([]workv1alpha2.TargetCluster, error) {
	parties, err := weigh(spec.Placement.ReplicaScheduling.WeightPreference, candidates)
	if err != nil {
		return nil, err
	}
	shares := division.Webster(spec.Replicas, parties, division.DescendingTies(string(spec.Resource.UID)))
	out := make([]workv1alpha2.TargetCluster, 0, len(shares))
	for _, p := range shares {
		if p.Share > 0 {
			out = append(out, workv1alpha2.TargetCluster{Name: p.Name, Replicas: p.Share})
		}
	}
	return out, nil
}

// weigh gives each candidate the largest weight of the entries that pick it. A
// candidate that no entry picks weighs nothing, unless none is picked: then all weigh
// the same.
func weigh(preference *policyv1alpha1.ClusterPreferences, candidates []*clusterv1alpha1.Cluster) ([]division.Party, error) {
	parties := make([]division.Party, len(candidates))
	for i, c := range candidates {
		parties[i].Name = c.Name
	}
	listed := false
	if preference != nil {
		for i := range preference.StaticWeightList {
			entry := &preference.StaticWeightList[i]
			matcher, err := selector.CompileCluster(&entry.TargetCluster)
			if err != nil {
				return nil, fmt.Errorf("reading staticWeightList[%d].targetCluster: %w", i, err)
			}
			for j, c := range candidates {
				if entry.Weight > parties[j].Weight && matcher.Matches(c) {
					parties[j].Weight = entry.Weight
					listed = true
				}
			}
		}
	}
	if !listed {
		for i := range parties {
			parties[i].Weight = 1
		}
	}
	return parties, nil
}
