package assign

import (
	"cmp"
	"fmt"
	"slices"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// SelectRequest says what is to be spread.
type SelectRequest struct {
	Constraints []policyv1alpha1.SpreadConstraint
	// Need is how many replicas the selected clusters must have room for; 0 if that
	// does not matter.
	Need int64
	// Each is how many replicas every selected cluster gets, if all get as many: groups
	// are preferred by how many of their clusters have that much room; 0 if that does not
	// matter.
	Each int64
	// Fresh forgets what runs where.
	Fresh bool
	// Explain asks for the limits of those that are not selected.
	Explain bool
	// Scratch is memory to work in; nil is new memory.
	Scratch *Scratch
}

// Selection is what was selected.
type Selection struct {
	// Selected says of each candidate whether it is.
	Selected []bool
	// Limits says of each candidate that is not, which constraint it is that kept
	// it out; nil if that was not asked for, or all are selected.
	Limits []string
}

// bounds of a constraint; a maximum of 0 in a policy is none.
type span struct{ min, max int }

const unlimited = int(^uint(0) >> 1)

func spanOf(s *policyv1alpha1.SpreadConstraint) span {
	b := span{min: max(1, s.MinGroups), max: s.MaxGroups}
	if b.max <= 0 {
		b.max = unlimited
	}
	return b
}

// dimension is a constraint that groups clusters.
type dimension struct {
	span
	// name is the field or the label.
	name string
	// groups by preference, and of each candidate the indexes of its own, which are parts of indexes.
	groups  []group
	of      [][]int
	indexes []int
	// orders are those in which groups are tried.
	orders [][]int
	// least is how many groups it takes.
	least int
}

// Select selects among candidates, which are sorted by name. The error is a sentence
// that says what is lacking. The selection is in the scratch memory.
func Select(r SelectRequest, candidates []Candidate) (Selection, error) {
	if r.Scratch == nil {
		r.Scratch = &Scratch{}
	}
	clusters, dims := span{min: 1, max: unlimited}, r.Scratch.dims[:0]
	for i := range r.Constraints {
		s := &r.Constraints[i]
		if s.SpreadByLabel == "" && s.SpreadByField == policyv1alpha1.SpreadByCluster {
			clusters = spanOf(s)
			continue
		}
		dims = slices.Grow(dims, 1)[:len(dims)+1]
		dims[len(dims)-1].begin(s)
	}
	r.Scratch.dims = dims
	for i := range dims {
		// Each region that must be there has a cluster, however few clusters there may be.
		if dims[i].name == string(policyv1alpha1.SpreadByRegion) {
			clusters.max = max(clusters.max, dims[i].min)
		}
	}
	if len(dims) == 0 && clusters.max >= len(candidates) && len(candidates) >= clusters.min && r.Need == 0 {
		all := zeroes(&r.Scratch.selected, len(candidates))
		for i := range all {
			all[i] = true
		}
		return Selection{Selected: all}, nil
	}
	if len(candidates) < clusters.min {
		return Selection{}, fmt.Errorf("the number of feasible clusters is less than spreadConstraint.MinGroups: %d of %d", len(candidates), clusters.min)
	}
	s := search{request: r, clusters: clusters, candidates: candidates, order: r.order(candidates), dims: dims}
	// What no search can find is not searched for: it is asked for with every report of
	// a cluster.
	if capacity := mostCapacity(r.capacities(candidates), clusters.max); capacity < r.Need {
		return Selection{}, s.short(capacity, r.Need)
	}
	for i := range r.Constraints {
		c := &r.Constraints[i]
		if at := slices.IndexFunc(s.dims, func(d dimension) bool { return d.name == nameOf(c) }); at >= 0 {
			s.dims[at].collect(&r, clusters, c, candidates, s.order)
			if n := len(s.dims[at].groups); n < s.dims[at].min {
				return Selection{}, fmt.Errorf("the number of feasible %s is less than spreadConstraint.MinGroups: %d of %d", s.dims[at].name, n, s.dims[at].min)
			}
			if capacity := s.dims[at].mostCapacity(); capacity < r.Need {
				return Selection{}, s.short(capacity, r.Need)
			}
		}
	}
	return s.run()
}

// begin has a dimension be that of a constraint. What it was before is memory to work in.
func (d *dimension) begin(s *policyv1alpha1.SpreadConstraint) {
	*d = dimension{span: spanOf(s), name: nameOf(s), groups: d.groups[:0], of: d.of[:0], indexes: d.indexes[:0]}
}

func (r *SelectRequest) capacities(candidates []Candidate) []int64 {
	out := zeroes(&r.Scratch.capacities, len(candidates))
	for i := range candidates {
		out[i] = candidates[i].capacity()
	}
	return out
}

// mostCapacity is the capacity of as many groups as may be selected, whichever they are.
func (d *dimension) mostCapacity() int64 {
	capacities := make([]int64, len(d.groups))
	for i := range d.groups {
		capacities[i] = d.groups[i].capacity
	}
	return mostCapacity(capacities, d.max)
}

// mostRoom adds up the largest, so many at most. It sorts what it is given.
func mostCapacity(capacities []int64, most int) int64 {
	if most < len(capacities) {
		slices.SortFunc(capacities, func(a, b int64) int { return cmp.Compare(b, a) })
		capacities = capacities[:most]
	}
	var sum int64
	for _, capacity := range capacities {
		sum += capacity
	}
	return sum
}

func nameOf(s *policyv1alpha1.SpreadConstraint) string {
	if s.SpreadByLabel != "" {
		return "label " + s.SpreadByLabel
	}
	return string(s.SpreadByField)
}

// score is how much a candidate is preferred.
func (r *SelectRequest) score(c *Candidate) int64 {
	if r.Fresh {
		return 0
	}
	return c.Score
}

// order returns the indexes of candidates, the best first.
func (r *SelectRequest) order(candidates []Candidate) []int {
	out := zeroes(&r.Scratch.order, len(candidates))
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, func(i, j int) int {
		a, b := &candidates[i], &candidates[j]
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(r.score(b), r.score(a)), cmp.Compare(b.capacity(), a.capacity()), cmp.Compare(i, j))
	})
	return out
}
