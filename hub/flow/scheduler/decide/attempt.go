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

// attempt is the state while one group is tried. The slices at, clusters and candidates hold the same candidates, sorted by name.
type attempt struct {
	in       Input
	query    *fit.Query
	strategy assign.Strategy
	fresh    bool
	// group is the index of the group.
	group int
	// memory holds reusable buffers.
	memory *memory
	// verdicts are the verdicts on all clusters; nil if nobody reads them.
	verdicts []Verdict
	// at is the index of each candidate's verdict, if there are verdicts.
	at         []int
	clusters   []*clusterv1alpha1.Cluster
	candidates []assign.Candidate
	// refused and related are the filter results if a Memo is used: refused has the Memo's results for all clusters, by index, and related
	// overrides those of clusters to which this application has a relation of its own, sorted by index.
	refused []refused
	related []relation
}

// memory holds buffers that attempts reuse, so that each does not allocate for thousands of clusters. The zero value is ready.
type memory struct {
	clusters   []*clusterv1alpha1.Cluster
	candidates []assign.Candidate
	related    []relation
	keep       []bool
	scratch    assign.Scratch
}

// forget drops the references to clusters.
func (m *memory) forget() {
	clear(m.clusters[:cap(m.clusters)])
	clear(m.candidates[:cap(m.candidates)])
}

// flags returns n flags, all false, in a buffer that the next call reuses.
func (m *memory) flags(n int) []bool {
	m.keep = slices.Grow(m.keep[:0], n)[:n]
	clear(m.keep)
	return m.keep
}

func queryOf(in *Input, g group) *fit.Query {
	q := fit.NewQuery(in.Spec, g.matcher)
	q.Overflow, q.Selector, q.Peers, q.APIPending = g.overflow, g.affinity, in.Peers, in.APIPending
	q.FailedIn, q.Allowance = sets.New(in.FailedIn...).Insert(in.shunned...), in.Allowance
	return q
}

// try tries one group. The error says which weight or bound of the placement is invalid.
func try(in Input, g group, t Trigger) (Attempt, []workv1alpha2.TargetCluster, error) {
	a := attempt{in: in, query: queryOf(&in, g), strategy: assign.StrategyOf(in.Spec), fresh: t == TriggerRequested, group: g.index}
	if in.Memo == nil {
		a.memory = &memory{}
	} else {
		a.memory = &in.Memo.memory
	}
	a.filter()
	out := Attempt{Affinity: g.name, Verdicts: a.verdicts}
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
		out.Message = "failed to assign replicas: replicaBounds allow no cluster any replicas."
		return out, nil, nil
	}
	return out, targets, nil
}

// spread keeps only the candidates that the spread constraints select.
func (a *attempt) spread() error {
	if a.strategy == assign.StaticWeight {
		keep := a.memory.flags(len(a.candidates))
		for i := range keep {
			if keep[i] = a.candidates[i].Weight > 0; !keep[i] {
				a.limit(i, "weight 0")
			}
		}
		a.retain(keep)
	}
	constraints := a.in.Spec.Placement.SpreadConstraints
	if len(constraints) == 0 {
		return nil
	}
	r := assign.SelectRequest{Constraints: constraints, Fresh: a.fresh, Explain: a.verdicts != nil, Scratch: &a.memory.scratch}
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
	for i, limit := range selection.Limits {
		if !selection.Selected[i] {
			a.limit(i, limit)
		}
	}
	a.retain(selection.Selected)
	return nil
}

// rest keeps only the candidates that have the application, if any does: scaled to 0 it stays where it is, and so do its dependencies.
func (a *attempt) rest() {
	if !slices.ContainsFunc(a.clusters, a.isTarget) {
		return
	}
	keep := a.memory.flags(len(a.clusters))
	for i, c := range a.clusters {
		if keep[i] = a.isTarget(c); !keep[i] {
			a.limit(i, "scaled to 0: it stays where it is")
		}
	}
	a.retain(keep)
}

func (a *attempt) isTarget(c *clusterv1alpha1.Cluster) bool { return a.query.Targets.Has(c.Name) }

// retain drops the other candidates.
func (a *attempt) retain(keep []bool) {
	a.at, a.clusters, a.candidates = retain(a.at, keep), retain(a.clusters, keep), retain(a.candidates, keep)
}

// retain keeps the marked elements of a list, in place. An empty list, which is not filled yet, stays empty.
func retain[T any](list []T, keep []bool) []T {
	if len(list) == 0 {
		return list
	}
	n := 0
	for i, in := range keep {
		if in {
			list[n] = list[i]
			n++
		}
	}
	return list[:n]
}

// verdict returns the verdict on a candidate; nil if nobody reads it.
func (a *attempt) verdict(i int) *Verdict {
	if a.verdicts == nil {
		return nil
	}
	return &a.verdicts[a.at[i]]
}

// limit records in the verdict what keeps the share of a candidate from being larger.
func (a *attempt) limit(i int, why string) {
	if v := a.verdict(i); v != nil {
		v.Limit = why
	}
}

// unfit returns whether a filter rejects a current target. Filters are lenient with targets: a new taint, for example, does not reject one,
// since removing it is up to eviction.
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
