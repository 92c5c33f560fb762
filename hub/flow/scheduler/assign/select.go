package assign

import (
	"cmp"
	"fmt"
	"slices"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// SelectRequest says what to select clusters for.
type SelectRequest struct {
	Constraints []policyv1alpha1.SpreadConstraint
	// Need is how many replicas the selected clusters together must have capacity for; 0 if that does not matter.
	Need int64
	// Each is how many replicas each selected cluster gets, if all get the same. Groups are preferred by how many of their clusters have
	// that capacity; 0 if it does not matter.
	Each int64
	// Fresh ignores where the application runs.
	Fresh bool
	// Explain asks for Selection.Limits.
	Explain bool
	// Scratch holds reusable buffers; nil allocates new ones.
	Scratch *Scratch
}

// Selection is the result of Select.
type Selection struct {
	// Selected says for each candidate whether it is selected.
	Selected []bool
	// Limits says for each candidate that is not selected which constraint excluded it; nil if Explain is not set, or all are selected.
	Limits []string
}

// span is the minimum and maximum of a constraint; a maximum of 0 in a policy means unlimited.
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
	// groups are sorted by preference; of has the indexes of each candidate's groups, as slices of indexes.
	groups  []group
	of      [][]int
	indexes []int
	// orders are the orders in which groups are tried.
	orders [][]int
	// least is the least number of groups that may suffice.
	least int
}

// Select selects among candidates, which must be sorted by name. The error says what is lacking. The selection is in the scratch memory.
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
		// The minimum of regions takes precedence over the maximum of clusters.
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
	// Skip the search if it cannot succeed: a binding that waits for capacity is decided on again with every report of a cluster.
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

// begin resets a dimension for a constraint, reusing its memory.
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

// mostCapacity returns the largest capacity of as many groups as may be selected.
func (d *dimension) mostCapacity() int64 {
	capacities := make([]int64, len(d.groups))
	for i := range d.groups {
		capacities[i] = d.groups[i].capacity
	}
	return mostCapacity(capacities, d.max)
}

// mostCapacity returns the sum of the largest capacities, at most so many. It may sort the slice.
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

// score returns the score of a candidate; 0 if Fresh.
func (r *SelectRequest) score(c *Candidate) int64 {
	if r.Fresh {
		return 0
	}
	return c.Score
}

// order returns the indexes of the candidates, the most preferred first.
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
