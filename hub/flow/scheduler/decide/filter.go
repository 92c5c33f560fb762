package decide

import (
	"cmp"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// relation is the filter result for a cluster to which the application has a relation of its own, such as being a target.
type relation struct {
	refused

	// at is the index of the cluster.
	at int
}

// filter applies the filters to every cluster.
func (a *attempt) filter() {
	if a.in.Memo != nil && !a.in.Explain { // explanations are not memoized
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

// filterByMemo does the same as filter with the Memo, without verdicts.
func (a *attempt) filterByMemo() {
	m, filters, q := a.in.Memo, fit.Filters(), *a.query
	q.Targets, q.Leaving, q.FailedIn, q.APIPending, q.Peers = bindings.Clusters{}, nil, nil, bindings.Clusters{}, fit.Peers{}
	key := filterKey{placement: a.in.placement, apiVersion: q.APIVersion, kind: q.Kind, allowance: q.Allowance.Key(), group: a.group, overflow: len(q.Overflow)}
	if m.seen.look(a.in.Clusters, fit.Reservations{}) { // do not keep deleted clusters in memory
		m.memory.forget()
	}
	a.refused = m.filtered.get(key, &m.seen, func(i int) refused {
		filter, reason := refusal(&q, filters, a.in.Clusters[i])
		return refused{filter, reason}
	})
	a.relate(filters)
	a.clusters = m.memory.clusters[:0]
	for i, r := range a.refusals() {
		if r.filter == "" {
			a.clusters = append(a.clusters, a.in.Clusters[i])
		}
	}
	m.memory.clusters = a.clusters
}

// relate applies the filters to the clusters to which the application has a relation of its own.
func (a *attempt) relate(filters []fit.Filter) {
	a.related = a.memory.related[:0]
	ask := func(i int) {
		filter, reason := refusal(a.query, filters, a.in.Clusters[i])
		a.related = append(a.related, relation{refused{filter, reason}, i})
	}
	clusters := sortedClusters(a.in.Clusters)
	at, found := 0, false
	for i := range a.in.Spec.Clusters {
		// A target passes wherever a new application would; where it would not, filters may still let a target stay.
		if at, found = clusters.find(a.in.Spec.Clusters[i].Name, at); found && a.refused[at].filter != "" {
			ask(at)
		}
	}
	for _, names := range []sets.Set[string]{a.query.Leaving, a.query.FailedIn} {
		for name := range names {
			if i, found := clusters.find(name, 0); found {
				ask(i)
			}
		}
	}
	// APIPending may contain all clusters; only those that the filter APIEnablement rejected can differ.
	if a.query.APIPending.Len() > 0 {
		for i, c := range clusters {
			if a.refused[i].filter == fit.APIEnablement && a.query.APIPending.Has(c.Name) {
				ask(i)
			}
		}
	}
	slices.SortFunc(a.related, func(x, y relation) int { return cmp.Compare(x.at, y.at) })
	a.related = slices.CompactFunc(a.related, func(x, y relation) bool { return x.at == y.at })
	a.memory.related = a.related
}

// refusals iterates over the filter results of all clusters, by index.
func (a *attempt) refusals() iter.Seq2[int, refused] {
	related, byPeers := a.related, []fit.Filter(nil)
	if len(a.query.Peers.Together)+len(a.query.Peers.Apart) > 0 {
		byPeers = fit.PeerFilters()
	}
	return func(yield func(int, refused) bool) {
		for i, r := range a.refused {
			if len(related) > 0 && related[0].at == i {
				r, related = related[0].refused, related[1:]
			} else if r.filter == "" && byPeers != nil {
				r.filter, r.reason = refusal(a.query, byPeers, a.in.Clusters[i])
			}
			if !yield(i, r) {
				return
			}
		}
	}
}

// fitError returns the message for an attempt in which no cluster passes the filters.
func (a *attempt) fitError() string {
	reasons := map[string]int{}
	for i := range a.verdicts {
		reasons[a.verdicts[i].Reason]++
	}
	for _, r := range a.refusals() {
		reasons[r.reason]++
	}
	return fitError(len(a.in.Clusters), reasons)
}
