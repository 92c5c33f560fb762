package decide

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
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
	// group is which of the groups it is.
	group    int
	verdicts []Verdict
	// at is the index of the verdict of each candidate.
	at         []int
	clusters   []*clusterv1alpha1.Cluster
	candidates []assign.Candidate
	// refused and related are what keeps clusters out, by index, if it was asked of a Memo: of most as the Memo has it, and
	// of those to which the application has a relation of its own as it is for this one.
	refused []refused
	related map[int]refused
}

func queryOf(in *Input, g group) *fit.Query {
	q := fit.NewQuery(in.Spec, g.matcher)
	q.Overflow, q.Selector, q.Peers, q.APIPending = g.overflow, g.affinity, in.Peers, in.APIPending
	q.FailedIn, q.Allowance = sets.New(in.FailedIn...).Insert(in.shunned...), in.Allowance
	return q
}

// try tries one group.
// The error says what of the weights cannot be read.
func try(in Input, g group, t Trigger) (Attempt, []workv1alpha2.TargetCluster, error) {
	a := attempt{in: in, query: queryOf(&in, g), strategy: assign.StrategyOf(in.Spec), fresh: t == TriggerRequested, group: g.index}
	a.filter()
	out := Attempt{Affinity: g.name}
	if a.refused == nil {
		out.Verdicts = a.verdicts
	}
	if len(a.clusters) == 0 {
		out.Message, out.NoFit = a.fitError(), true
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
	// What peers say is different for each application, and what a person wants to know is not remembered.
	if a.in.Memo != nil && !a.in.Explain && len(a.in.Peers.Together)+len(a.in.Peers.Apart) == 0 {
		a.filterByMemo()
		return
	}
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

// unfit says whether a target is refused by what it must still have: eviction and the
// like take it away, a taint does not.
func unfit(in *Input, g group) bool {
	q, filters := queryOf(in, g), fit.Filters()
	clusters := sortedClusters(in.Clusters)
	return slices.ContainsFunc(in.Spec.Clusters, func(t workv1alpha2.TargetCluster) bool {
		c := clusters.named(t.Name)
		if c == nil {
			return false
		}
		name, _ := refusal(q, filters, c)
		return name != ""
	})
}
