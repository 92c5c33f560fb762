package assign

import (
	"fmt"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/division"
	"fairlead.dev/common/selector"
)

// Bounds returns for each cluster the largest minimum and the smallest maximum of the entries that select it. The error says which entry is
// invalid.
func Bounds(entries []policyv1alpha1.ClusterReplicaBounds, clusters []*clusterv1alpha1.Cluster) ([]division.Bounds, error) {
	bounds := make([]division.Bounds, len(clusters))
	for i := range bounds {
		bounds[i].Max = division.Unbounded
	}
	for i := range entries {
		entry := &entries[i]
		matcher, err := selector.CompileCluster(&entry.TargetCluster)
		if err != nil {
			return nil, fmt.Errorf("reading replicaBounds[%d].targetCluster: %w", i, err)
		}
		for j, c := range clusters {
			if !matcher.Matches(c) {
				continue
			}
			bounds[j].Min = max(bounds[j].Min, entry.MinReplicas)
			if entry.MaxReplicas != nil {
				bounds[j].Max = min(bounds[j].Max, *entry.MaxReplicas)
			}
		}
	}
	return bounds, nil
}

// bounded divides the replicas by weights within bounds.
func bounded(r Request, candidates []Candidate, shares []int32) []int32 {
	parties, bounds := make([]division.Party, len(candidates)), make([]division.Bounds, len(candidates))
	for i, c := range candidates {
		parties[i], bounds[i] = division.Party{Name: c.Cluster.Name, Weight: c.Weight}, c.Bounds
	}
	// Parties, bounds and the result are all sorted by name.
	out, _ := division.Bounded(r.Replicas, parties, bounds, r.DescendingTies)
	for i := range out {
		shares[i] = out[i].Share
	}
	return shares
}
