package decide

import (
	"slices"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/division"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// wake keeps only the candidates that have the application, if it was scaled to 0 there and fits into them again.
func (a *attempt) wake(request assign.Request) {
	if a.fresh || !assign.ByCapacity(a.strategy) || total(a.in.Spec.Clusters) > 0 || !slices.ContainsFunc(a.clusters, a.isTarget) {
		return
	}
	keep := a.memory.flags(len(a.clusters))
	var before []assign.Candidate
	for i, c := range a.clusters {
		if keep[i] = a.isTarget(c); keep[i] {
			before = append(before, a.candidates[i])
		}
	}
	if _, short := assign.Replicas(request, before); short != nil {
		return
	}
	for i := range keep {
		if !keep[i] {
			a.limit(i, "it was scaled to 0 elsewhere, and returns there")
		}
	}
	a.retain(keep)
}

// assign divides the replicas among the remaining candidates.
func (a *attempt) assign() ([]workv1alpha2.TargetCluster, *assign.Shortage) {
	spec := a.in.Spec
	request := assign.Request{
		Strategy: a.strategy, Replicas: spec.Replicas, Fresh: a.fresh,
		DescendingTies: division.DescendingTies(string(spec.Resource.UID)), Bounded: a.bounded(), Scratch: &a.memory.scratch,
	}
	a.wake(request)
	shares, short := assign.Replicas(request, a.candidates)
	if short != nil {
		return nil, short
	}
	a.explainShares(shares)
	components, n := componentsOf(spec), 0
	for _, share := range shares {
		if a.gets(share) {
			n++
		}
	}
	if n == len(spec.Clusters) && n > 0 && a.has(shares, components) {
		return spec.Clusters, nil
	}
	targets := make([]workv1alpha2.TargetCluster, 0, n)
	for i, share := range shares {
		if a.gets(share) {
			targets = append(targets, workv1alpha2.TargetCluster{Name: a.clusters[i].Name, Replicas: share, Components: components})
		}
	}
	return targets, nil
}

// gets returns whether a candidate with such a share becomes a target.
func (a *attempt) gets(share int32) bool { return share != 0 || a.strategy == assign.Everywhere }

// has returns whether the current targets are exactly these shares, in the order of names.
func (a *attempt) has(shares []int32, components []workv1alpha2.TargetComponent) bool {
	next := 0
	for i, share := range shares {
		if !a.gets(share) {
			continue
		}
		t := &a.in.Spec.Clusters[next]
		if t.Name != a.clusters[i].Name || t.Replicas != share || !slices.Equal(t.Components, components) {
			return false
		}
		next++
	}
	return true
}

// explainShares records in the verdicts the share of each candidate and what limits it.
func (a *attempt) explainShares(shares []int32) {
	if a.verdicts == nil {
		return
	}
	for i, share := range shares {
		v := a.verdict(i)
		if !a.gets(share) {
			v.Limit = a.none(i)
			continue
		}
		v.Target, v.Replicas = true, share
		if assign.ByCapacity(a.strategy) && share-a.candidates[i].Assigned >= a.candidates[i].Available {
			v.Limit = v.Capacity.Limit
		}
		if a.bounded() {
			v.Limit = boundOf(&a.candidates[i], share)
		}
	}
}

// none returns why a candidate gets no replicas.
func (a *attempt) none(i int) string {
	c := &a.candidates[i]
	switch {
	case assign.ByCapacity(a.strategy) && c.Available == 0 && c.Assigned == 0:
		return a.verdict(i).Capacity.Limit
	case a.bounded() && c.Bounds.Max == 0:
		return boundOf(c, 0)
	case c.Tier > 0:
		return "overflow: the clusters before it have room for all"
	case a.strategy == assign.Aggregated:
		return "aggregated into fewer clusters"
	case assign.ByCapacity(a.strategy) && !a.fresh && len(a.in.Spec.Clusters) > 0:
		return "what runs elsewhere stays there"
	default:
		return "others weigh more"
	}
}

// componentsOf returns the components of a target if all of them go to one cluster; nil otherwise.
func componentsOf(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.TargetComponent {
	if !oneCluster(spec) {
		return nil
	}
	out := make([]workv1alpha2.TargetComponent, len(spec.Components))
	for i, c := range spec.Components {
		out[i] = workv1alpha2.TargetComponent{Name: c.Name, Replicas: c.Replicas}
	}
	return out
}
