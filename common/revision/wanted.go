package revision

import (
	"slices"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Plan determines the revision that each cluster should have, from the status of a rollout. Make one with NewPlan;
// the zero value leaves everything as it is. It is safe for concurrent use.
type Plan struct {
	stable    ID
	revisions map[int64]ID
	named     map[string]int64
}

// NewPlan evaluates the status of a rollout, once for all clusters.
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

// Wanted returns the revision that a cluster should have, given the one it has (none if it has no Work, or one from
// before there was a rollout). None means that an existing Work stays as it is, and that none is created.
//
// It never returns a lower number than that of have.
func (p Plan) Wanted(cluster string, have ID) ID {
	want := p.stable
	if number, named := p.named[cluster]; named {
		want = p.revisions[number] // number 0 yields none
	}
	switch {
	case want.Zero(), want.Number < have.Number:
		return have
	default:
		return want
	}
}

// Stable returns the last revision that passed every wave; none if there is none.
func (p Plan) Stable() ID { return p.stable }

// Unproven returns whether a cluster was sent a revision newer than the stable one, which the rollout has yet to
// judge.
func (p Plan) Unproven(cluster string) bool {
	return p.stable.Number > 0 && p.named[cluster] > p.stable.Number
}

// Sent returns the revision that the status explicitly assigns to a cluster; none if it does not name the cluster, or
// lets it keep what it has. A Work of unknown content is replaced only by such a revision.
func (p Plan) Sent(cluster string) ID { return p.revisions[p.named[cluster]] }

// Known returns whether the content of a revision is still stored.
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
