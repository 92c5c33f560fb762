package assign

import (
	"fmt"
	"slices"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
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
	// StaticWeight : replicas are divided in proportion to fixed weights.
	StaticWeight Strategy = "StaticWeight"
	// DynamicWeight : replicas are divided in proportion to the clusters' available capacity.
	DynamicWeight Strategy = "DynamicWeight"
	// Aggregated : replicas are packed into as few clusters as possible.
	Aggregated Strategy = "Aggregated"
)

// StrategyOf returns how the replicas of a binding are assigned. A workload with 0 replicas is treated like an object without replicas: it
// goes everywhere, ready to be scaled up. One that was scaled to 0 stays where it is, because its clusters are then the only candidates.
func StrategyOf(spec *workv1alpha2.ResourceBindingSpec) Strategy {
	if spec.Replicas <= 0 || bindings.HasComponents(spec) {
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

// Candidate is a cluster that may get the application, or a share of it.
type Candidate struct {
	Cluster *clusterv1alpha1.Cluster
	// Score is the higher, the more the cluster is preferred.
	Score int64
	// Weight is the cluster's weight, and Bounds the bounds of its share, both for StaticWeight.
	Weight int64
	Bounds division.Bounds
	// Available is how many more replicas, or sets of components, fit.
	Available int32
	// Assigned is how many replicas the cluster has, and Target whether it has the application.
	Assigned int32
	Target   bool
	// Tier is 0 for regular clusters, and more for overflow clusters, which take what does not fit into the tiers before.
	Tier int
}

// capacity returns how many replicas the cluster can have, including those that it has.
func (c *Candidate) capacity() int64 { return int64(c.Available) + int64(c.Assigned) }

// Request says what to divide.
type Request struct {
	Strategy Strategy
	Replicas int32
	// Fresh divides all replicas again, regardless of what is assigned.
	Fresh bool
	// DescendingTies gives the odd replica to the last name instead of the first.
	DescendingTies bool
	// Bounded says that the candidates have bounds.
	Bounded bool
	// Scratch holds reusable buffers; nil allocates new ones.
	Scratch *Scratch
}

// Shortage says that not all replicas fit.
type Shortage struct {
	// Available is how many replicas fit, of those Wanted.
	Available, Wanted int64
}

// String returns the sentence for conditions.
func (s *Shortage) String() string {
	return fmt.Sprintf("Clusters available replicas %d are not enough to schedule. %d are needed: there is no room for %d of them.",
		s.Available, s.Wanted, s.Wanted-s.Available)
}

// Replicas returns the share of each candidate; the candidates must be sorted by name. The shares sum up to the replicas, with three
// exceptions: with Duplicated each share is all replicas, with Everywhere it is 0, and with bounds the maxima may leave replicas over. The
// shortage is nil if all fit. The shares are in the scratch memory.
func Replicas(r Request, candidates []Candidate) ([]int32, *Shortage) {
	if r.Scratch == nil {
		r.Scratch = &Scratch{}
	}
	shares := zeroes(&r.Scratch.shares, len(candidates))
	switch r.Strategy {
	case Everywhere:
	case Duplicated:
		for i := range shares {
			shares[i] = r.Replicas
		}
	case StaticWeight:
		if r.Bounded {
			return bounded(r, candidates, shares), nil
		}
		weights := zeroes(&r.Scratch.weights, len(candidates))
		for i := range candidates {
			weights[i] = candidates[i].Weight
		}
		divide(r, r.Replicas, candidates, weights, shares)
	case DynamicWeight, Aggregated:
		return shares, dynamic(r, candidates, shares)
	}
	return shares, nil
}

// divide divides total by the weights and adds the parts to the shares. If all weights are 0, no candidate gets anything.
func divide(r Request, total int32, candidates []Candidate, weights []int64, shares []int32) {
	s := r.Scratch
	parties, at := slices.Grow(s.parties[:0], len(candidates)), slices.Grow(s.indexes[:0], len(candidates))
	for i, w := range weights {
		if w > 0 {
			parties = append(parties, division.Party{Name: candidates[i].Cluster.Name, Weight: w})
			at = append(at, i)
		}
	}
	s.parties, s.indexes = parties, at
	s.divider.Divide(total, parties, r.DescendingTies)
	for i := range parties {
		shares[at[i]] += parties[i].Share
	}
}

// Weights returns for each cluster the largest weight of the entries that select it. A cluster that no entry selects has weight 0, unless
// none is selected: then all have weight 1. The error says which entry is invalid.
func Weights(preference *policyv1alpha1.ClusterPreferences, clusters []*clusterv1alpha1.Cluster) ([]int64, error) {
	weights := make([]int64, len(clusters))
	listed := false
	if preference != nil {
		for i := range preference.StaticWeightList {
			entry := &preference.StaticWeightList[i]
			matcher, err := selector.CompileCluster(&entry.TargetCluster)
			if err != nil {
				return nil, fmt.Errorf("reading staticWeightList[%d].targetCluster: %w", i, err)
			}
			for j, c := range clusters {
				if entry.Weight > weights[j] && matcher.Matches(c) {
					weights[j] = entry.Weight
					listed = true
				}
			}
		}
	}
	if !listed {
		for i := range weights {
			weights[i] = 1
		}
	}
	return weights, nil
}

// ByCapacity returns whether a strategy divides replicas by capacity.
func ByCapacity(s Strategy) bool { return s == DynamicWeight || s == Aggregated }
