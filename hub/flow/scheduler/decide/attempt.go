package decide

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/division"
	"fairlead.dev/hub/flow/scheduler/assign"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// attempt is what is known while one group is tried. The candidates of the slices are
// the same, by name.
type attempt struct {
	in       Input
	query    *fit.Query
	strategy assign.Strategy
	fresh    bool
	verdicts []Verdict
	// at is the index of the verdict of each candidate.
	at         []int
	clusters   []*clusterv1alpha1.Cluster
	candidates []assign.Candidate
}

func queryOf(in *Input, g group) *fit.Query {
	q := fit.NewQuery(in.Spec, g.matcher)
	q.Overflow, q.Selector, q.Peers, q.APIPending = g.overflow, g.affinity, in.Peers, in.APIPending
	q.FailedIn, q.Allowance = sets.New(in.FailedIn...), in.Allowance
	return q
}

// try tries one group.
// The error says what of the weights cannot be read.
func try(in Input, g group, t Trigger) (Attempt, []workv1alpha2.TargetCluster, error) {
	a := attempt{in: in, query: queryOf(&in, g), strategy: assign.StrategyOf(in.Spec), fresh: t == TriggerRequested}
	a.filter()
	out := Attempt{Affinity: g.name, Verdicts: a.verdicts}
	if len(a.clusters) == 0 {
		out.Message, out.NoFit = fitError(a.verdicts), true
		return out, nil, nil
	}
	if bindings.Divided(in.Spec) && in.Spec.Replicas == 0 {
		a.rest()
	}
	if err := a.weigh(); err != nil {
		return out, nil, fmt.Errorf("replicaScheduling: %w", err)
	}
	if err := a.spread(); err != nil {
		out.Message = fmt.Sprintf("failed to select clusters: %v.", err)
		return out, nil, nil
	}
	targets, short := a.assign()
	switch {
	case short != nil:
		out.Message = "failed to assign replicas: " + short.String()
		return out, nil, nil
	case len(targets) == 0 && a.bounded():
		out.Message = "failed to assign replicas: no cluster may have any by replicaBounds."
		return out, nil, nil
	}
	return out, targets, nil
}

// filter asks the filters about every cluster.
func (a *attempt) filter() {
	filters := fit.Filters()
	a.verdicts = make([]Verdict, len(a.in.Clusters))
	a.at = make([]int, 0, len(a.in.Clusters))
	a.clusters = make([]*clusterv1alpha1.Cluster, 0, len(a.in.Clusters))
	for i, c := range a.in.Clusters {
		v := &a.verdicts[i]
		v.Cluster = c.Name
		if v.Filter, v.Reason = refusal(a.query, filters, c); v.Filter != "" {
			if a.in.Explain {
				v.Detail = fit.Explain(v.Filter, a.query, c)
			}
			continue
		}
		a.at = append(a.at, i)
		a.clusters = append(a.clusters, c)
	}
}

func refusal(q *fit.Query, filters []fit.Filter, c *clusterv1alpha1.Cluster) (name, reason string) {
	for _, f := range filters {
		if reason := f.Refuse(q, c); reason != "" {
			return f.Name, reason
		}
	}
	return "", ""
}

// weigh scores the candidates and says what fits into them, as far as that matters.
func (a *attempt) weigh() error {
	spec := a.in.Spec
	a.candidates = make([]assign.Candidate, len(a.clusters))
	assigned := make(map[string]int32, len(spec.Clusters))
	for _, t := range spec.Clusters {
		assigned[t.Name] = t.Replicas
	}
	estimated := a.needsCapacity() || a.in.Explain
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
			v.Estimated, v.Capacity = true, a.capacity(c)
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

func (a *attempt) capacity(c *clusterv1alpha1.Cluster) fit.Capacity {
	namespace := a.in.Spec.Resource.Namespace
	if len(a.in.Spec.Components) > 1 {
		return fit.Sets(c, a.in.Assumed[c.Name], namespace, a.in.Spec.Components)
	}
	return fit.Replicas(c, a.in.Assumed[c.Name], namespace, a.in.Spec.ReplicaRequirements)
}

// spread leaves the candidates that the spread constraints select.
func (a *attempt) spread() error {
	keep := make([]bool, len(a.candidates))
	for i := range keep {
		keep[i] = a.strategy != assign.StaticWeight || a.candidates[i].Weight > 0
		if !keep[i] {
			a.verdicts[a.at[i]].Limit = "weight 0"
		}
	}
	a.retain(keep)
	constraints := a.in.Spec.Placement.SpreadConstraints
	if len(constraints) == 0 {
		return nil
	}
	r := assign.SelectRequest{Constraints: constraints, Fresh: a.fresh}
	if assign.ByCapacity(a.strategy) {
		r.Need = int64(a.in.Spec.Replicas)
	}
	if a.strategy == assign.Duplicated {
		r.Each = int64(a.in.Spec.Replicas)
	}
	if oneCluster(a.in.Spec) {
		r.Need = 1
	}
	selection, err := assign.Select(r, a.candidates)
	if err != nil {
		return err
	}
	for i, in := range selection.Selected {
		if !in {
			a.verdicts[a.at[i]].Limit = selection.Limits[i]
		}
	}
	a.retain(selection.Selected)
	return nil
}

// rest leaves the candidates that have the application, if any does: scaled to 0 it stays where
// it is, and what it needs with it.
func (a *attempt) rest() {
	if !slices.ContainsFunc(a.clusters, a.isTarget) {
		return
	}
	n := 0
	for i, c := range a.clusters {
		if !a.isTarget(c) {
			a.verdicts[a.at[i]].Limit = "scaled to 0: it stays where it is"
			continue
		}
		a.at[n], a.clusters[n] = a.at[i], c
		n++
	}
	a.at, a.clusters = a.at[:n], a.clusters[:n]
}

func (a *attempt) isTarget(c *clusterv1alpha1.Cluster) bool { return a.query.Targets.Has(c.Name) }

// retain drops the other candidates.
func (a *attempt) retain(keep []bool) {
	n := 0
	for i, in := range keep {
		if in {
			a.at[n], a.clusters[n], a.candidates[n] = a.at[i], a.clusters[i], a.candidates[i]
			n++
		}
	}
	a.at, a.clusters, a.candidates = a.at[:n], a.clusters[:n], a.candidates[:n]
}

// wake leaves the candidates that have the application, if it was scaled to 0 there and all of
// it fits into them again.
func (a *attempt) wake(request assign.Request) {
	if a.fresh || !assign.ByCapacity(a.strategy) || total(a.in.Spec.Clusters) > 0 || !slices.ContainsFunc(a.clusters, a.isTarget) {
		return
	}
	keep := make([]bool, len(a.clusters))
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
			a.verdicts[a.at[i]].Limit = "it was scaled to 0 elsewhere, and returns there"
		}
	}
	a.retain(keep)
}

// assign shares the replicas among the candidates that are left.
func (a *attempt) assign() ([]workv1alpha2.TargetCluster, *assign.Shortage) {
	spec := a.in.Spec
	request := assign.Request{
		Strategy: a.strategy, Replicas: spec.Replicas, Fresh: a.fresh,
		DescendingTies: division.DescendingTies(string(spec.Resource.UID)), Bounded: a.bounded(),
	}
	a.wake(request)
	shares, short := assign.Replicas(request, a.candidates)
	if short != nil {
		return nil, short
	}
	components := componentsOf(spec)
	targets := make([]workv1alpha2.TargetCluster, 0, len(shares))
	for i, share := range shares {
		v := &a.verdicts[a.at[i]]
		if share == 0 && a.strategy != assign.Everywhere {
			v.Limit = a.none(i)
			continue
		}
		v.Target, v.Replicas = true, share
		if assign.ByCapacity(a.strategy) && share-a.candidates[i].Assigned >= a.candidates[i].Available {
			v.Limit = v.Capacity.Limit
		}
		if request.Bounded {
			v.Limit = boundOf(&a.candidates[i], share)
		}
		targets = append(targets, workv1alpha2.TargetCluster{Name: v.Cluster, Replicas: share, Components: components})
	}
	return targets, nil
}

// none says why a candidate got nothing.
func (a *attempt) none(i int) string {
	c := &a.candidates[i]
	switch {
	case assign.ByCapacity(a.strategy) && c.Available == 0 && c.Assigned == 0:
		return a.verdicts[a.at[i]].Capacity.Limit
	case a.bounded() && c.Bounds.Max == 0:
		return boundOf(c, 0)
	case c.Tier > 0:
		return "overflow: the clusters before it hold all"
	case a.strategy == assign.Aggregated:
		return "aggregated into fewer clusters"
	case assign.ByCapacity(a.strategy) && !a.fresh && len(a.in.Spec.Clusters) > 0:
		return "what runs elsewhere stays there"
	default:
		return "others weigh more"
	}
}

// componentsOf returns what of the components goes to a cluster; nothing is divided.
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

// unfit says whether a target is refused by what it must still have: eviction and the
// like take it away, a taint does not.
func unfit(in *Input, g group) bool {
	q, filters := queryOf(in, g), fit.Filters()
	targets := sets.New[string]()
	for _, t := range in.Spec.Clusters {
		targets.Insert(t.Name)
	}
	for _, c := range in.Clusters {
		if targets.Has(c.Name) {
			if name, _ := refusal(q, filters, c); name != "" {
				return true
			}
		}
	}
	return false
}
