package assign

import (
	"cmp"
	"slices"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// group is the clusters that share a value.
type group struct {
	value string
	// held is how many replicas run in the group, or, if replicas do not matter, in how many of its clusters the application is.
	held int64
	// weight says how well the group could hold its part of the application.
	weight int64
	// clusters is the number of clusters, fitting how many of them have capacity for SelectRequest.Each, and capacity the sum of theirs.
	clusters int
	fitting  int64
	capacity int64

	scores int64
	taken  int
	filled int64
}

// weightUnit makes capacity outweigh scores in the weight of a group.
const weightUnit = 1000

// collect makes the groups, sorted by preference: groups that have the application come first, unless it is placed from scratch.
func (d *dimension) collect(r *SelectRequest, clusters span, s *policyv1alpha1.SpreadConstraint, candidates []Candidate, order []int) {
	index := map[string]int{}
	zeroes(&d.of, len(candidates))
	need := max(d.min, clusters.min)
	part := (r.Need + int64(d.min) - 1) / int64(d.min)
	for _, at := range order {
		c := &candidates[at]
		r.Scratch.values = appendValues(r.Scratch.values[:0], s, c.Cluster)
		from := len(d.indexes)
		for _, v := range r.Scratch.values {
			i, ok := index[v]
			if !ok {
				i = len(d.groups)
				index[v] = i
				d.groups = append(d.groups, group{value: v})
			}
			if !slices.Contains(d.indexes[from:], i) {
				d.indexes = append(d.indexes, i)
				d.groups[i].add(r, c, need, part)
			}
		}
		d.of[at] = d.indexes[from:]
	}
	d.rank(r, part)
}

func (g *group) add(r *SelectRequest, c *Candidate, need int, part int64) {
	g.clusters++
	g.capacity += c.capacity()
	if !r.Fresh {
		g.held += int64(c.Assigned)
		if r.Need == 0 && c.Target {
			g.held++
		}
	}
	// Clusters come in order of preference. They count until they hold the part, or, if each gets the same, all that have capacity count.
	take := g.taken < need || g.filled < part
	if r.Need == 0 {
		if take = c.capacity() >= r.Each; take {
			g.fitting++
		}
	}
	if take {
		g.taken++
		g.filled += c.capacity()
		g.scores += r.score(c)
	}
}

// rank computes the weights of the groups and sorts them by preference.
func (d *dimension) rank(r *SelectRequest, part int64) {
	for i := range d.groups {
		g := &d.groups[i]
		g.weight = min(part, g.filled) * weightUnit
		if r.Need == 0 {
			g.weight = g.fitting * weightUnit
		}
		g.weight += g.scores / int64(max(1, g.taken))
	}
	sorted := make([]int, len(d.groups))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(i, j int) int {
		a, b := &d.groups[i], &d.groups[j]
		return cmp.Or(cmp.Compare(b.held, a.held), cmp.Compare(b.weight, a.weight), cmp.Compare(b.clusters, a.clusters), cmp.Compare(a.value, b.value))
	})
	rank := make([]int, len(sorted))
	groups := make([]group, len(sorted))
	for to, from := range sorted {
		rank[from], groups[to] = to, d.groups[from]
	}
	d.groups = groups
	for _, of := range d.of {
		for i := range of {
			of[i] = rank[of[i]]
		}
	}
}

// appendValues appends the values of a cluster for a constraint; a cluster in several zones belongs to each.
func appendValues(values []string, s *policyv1alpha1.SpreadConstraint, c *clusterv1alpha1.Cluster) []string {
	switch {
	case s.SpreadByLabel != "":
		return append(values, c.Labels[s.SpreadByLabel])
	case s.SpreadByField == policyv1alpha1.SpreadByRegion:
		return append(values, c.Spec.Region)
	case s.SpreadByField == policyv1alpha1.SpreadByProvider:
		return append(values, c.Spec.Provider)
	case len(c.Spec.Zones) > 0:
		return append(values, c.Spec.Zones...)
	default:
		return append(values, c.Spec.Zone)
	}
}
