package revision

import (
	"slices"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Plan answers which revision each cluster is to have, by the status of a rollout. Make one with
// NewPlan; the zero value says that everything stays. It is safe for use by many goroutines.
type Plan struct {
	stable    ID
	revisions map[int64]ID
	named     map[string]int64
}

// NewPlan reads the status of a rollout, once for all clusters.
func NewPlan(status *fairleadv1alpha1.StagedRolloutStatus) Plan {
	p := Plan{revisions: make(map[int64]ID, len(status.Revisions)), named: map[string]int64{}}
	for _, r := range status.Revisions {
		p.revisions[r.Number] = idOf(r)
	}
	p.stable = p.revisions[status.Stable]
	for _, group := range status.Clusters {
		for _, name := range group.Names {
			p.named[name] = group.Revision
		}
	}
	return p
}

// Wanted returns the revision that a cluster is to have, which has the revision have (none if it
// has no Work, or one that was made before there was a rollout). None means that what is there
// stays as it is, and that nothing is made where nothing is.
//
// It never returns a lower number than that of have.
func (p Plan) Wanted(cluster string, have ID) ID {
	want := p.stable
	if number, named := p.named[cluster]; named {
		want = p.revisions[number] // that of number 0 is none
	}
	switch {
	case want.Zero(), want.Number < have.Number:
		return have
	default:
		return want
	}
}

// Stable returns the revision that passed every wave last; none if there is none.
func (p Plan) Stable() ID { return p.stable }

// Unproven says whether a cluster was sent a revision that is newer than the stable one: whether it
// does any good is for the rollout to judge.
func (p Plan) Unproven(cluster string) bool {
	return p.stable.Number > 0 && p.named[cluster] > p.stable.Number
}

// Sent returns the revision that the status says by name that a cluster is to have; none if it does
// not name the cluster, or says that it keeps what it has. A Work of which nobody knows what is in
// it is replaced for that only.
func (p Plan) Sent(cluster string) ID { return p.revisions[p.named[cluster]] }

// Known says whether the content of a revision is still kept.
func (p Plan) Known(id ID) bool { return !id.Zero() && p.revisions[id.Number] == id }

// Names returns the clusters of all groups in a state, sorted.
func Names(groups []fairleadv1alpha1.ClusterGroup, state fairleadv1alpha1.ClusterState) []string {
	var out []string
	for _, group := range groups {
		if group.State == state {
			out = append(out, group.Names...)
		}
	}
	slices.Sort(out)
	return out
}
