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
}

// Selection is what was selected.
type Selection struct {
	// Selected says of each candidate whether it is.
	Selected []bool
	// Limits says of each candidate that is not, which constraint it is that kept
	// it out.
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
	// groups by preference, and of each candidate the indexes of its own.
	groups []group
	of     [][]int
	// orders are those in which groups are tried.
	orders [][]int
	// least is how many groups it takes.
	least int
}

// Select selects among candidates, which are sorted by name. The error is a sentence
// that says what is lacking.
func Select(r SelectRequest, candidates []Candidate) (Selection, error) {
	if r.Fresh {
		candidates = slices.Clone(candidates)
		for i := range candidates {
			candidates[i].Score, candidates[i].Target = 0, false
		}
	}
	clusters := span{min: 1, max: unlimited}
	var dims []dimension
	for i := range r.Constraints {
		s := &r.Constraints[i]
		if s.SpreadByLabel == "" && s.SpreadByField == policyv1alpha1.SpreadByCluster {
			clusters = spanOf(s)
			continue
		}
		dims = append(dims, dimension{span: spanOf(s), name: nameOf(s)})
	}
	for i := range dims {
		// Each region that must be there has a cluster, however few clusters there may be.
		if dims[i].name == string(policyv1alpha1.SpreadByRegion) {
			clusters.max = max(clusters.max, dims[i].min)
		}
	}
	all := Selection{Selected: make([]bool, len(candidates)), Limits: make([]string, len(candidates))}
	if len(dims) == 0 && clusters.max >= len(candidates) && len(candidates) >= clusters.min && r.Need == 0 {
		for i := range all.Selected {
			all.Selected[i] = true
		}
		return all, nil
	}
	if len(candidates) < clusters.min {
		return Selection{}, fmt.Errorf("the number of feasible clusters is less than spreadConstraint.MinGroups: %d of %d", len(candidates), clusters.min)
	}
	s := search{request: r, clusters: clusters, candidates: candidates, order: order(candidates), dims: dims}
	// What no search can find is not searched for: it is asked for with every report of
	// a cluster.
	if capacity := mostCapacity(capacities(candidates), clusters.max); capacity < r.Need {
		return Selection{}, s.short(capacity, r.Need)
	}
	for i := range r.Constraints {
		c := &r.Constraints[i]
		if at := slices.IndexFunc(s.dims, func(d dimension) bool { return d.name == nameOf(c) }); at >= 0 {
			s.dims[at].collect(r, clusters, c, candidates, s.order)
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

func capacities(candidates []Candidate) []int64 {
	out := make([]int64, len(candidates))
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

// order returns the indexes of candidates, the best first.
func order(candidates []Candidate) []int {
	out := make([]int, len(candidates))
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, func(i, j int) int {
		a, b := &candidates[i], &candidates[j]
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(b.Score, a.Score), cmp.Compare(b.capacity(), a.capacity()), cmp.Compare(i, j))
	})
	return out
}
