package assign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Bounds of a search, which holds up all other decisions. The first set of groups nearly always does.
const (
	// maxTries is how many sets of groups are tried.
	maxTries = 2000
	// maxLooks is how often it is looked whether a cluster is in a chosen group, all tries together: some tens of milliseconds.
	maxLooks = 4_000_000
	// minTries are made of however many clusters.
	minTries = 20
	// maxExchanges is how often one cluster is taken for another, all tries together.
	maxExchanges = 500_000
)

// search looks for clusters that meet every constraint.
type search struct {
	request    SelectRequest
	clusters   span
	candidates []Candidate
	order      []int
	dims       []dimension
	// chosen says of each dimension which of its groups are.
	chosen [][]bool
	tries  int
	// exchanges is how often a cluster may still be taken for another one.
	exchanges int
	// best is the most room of the sets that were tried, and most the most clusters.
	best int64
	most int
	// picked is what one try picks.
	picked picked
}

func (s *search) run() (Selection, error) {
	s.chosen = make([][]bool, len(s.dims))
	for at := range s.dims {
		s.chosen[at] = make([]bool, len(s.dims[at].groups))
		s.dims[at].sort()
		s.dims[at].least = s.dims[at].enough(s.request.Need, s.clusters.min)
	}
	s.tries, s.exchanges = min(maxTries, max(minTries, maxLooks/(len(s.candidates)*max(1, len(s.dims))))), maxExchanges
	if picked := s.stay(); picked != nil {
		return s.selection(picked), nil
	}
	if picked := s.try(0); picked != nil {
		return s.selection(picked), nil
	}
	switch {
	case s.most < s.clusters.min:
		return Selection{}, errors.New("the number of clusters is less than the cluster spreadConstraint.MinGroups")
	case s.best > 0 && s.best < s.request.Need:
		return Selection{}, s.short(s.best, s.request.Need)
	default:
		return Selection{}, errors.New("no selection of clusters meets all spread constraints at once")
	}
}

// short says that the clusters that may be selected have too little room.
func (s *search) short(capacity, need int64) error {
	return fmt.Errorf("no enough resource when selecting %s: they have room for %d of %d replicas", s.bound(), capacity, need)
}

// bound says how many clusters may be selected.
func (s *search) bound() string {
	if s.clusters.max == unlimited {
		return "clusters by the spread constraints"
	}
	return fmt.Sprintf("%d clusters", min(s.clusters.max, len(s.candidates)))
}

// try tries the sets of groups of one dimension, each with those of the next ones.
func (s *search) try(at int) []bool {
	if at == len(s.dims) {
		s.tries--
		return s.pick()
	}
	d := &s.dims[at]
	for size := d.least; size <= min(d.max, len(d.groups)) && s.tries > 0; size++ {
		// The preferred groups first, then those with the most room, then those with
		// the most clusters, then every set.
		for _, order := range d.orders {
			clear(s.chosen[at])
			for _, i := range order[:size] {
				s.chosen[at][i] = true
			}
			if picked := s.try(at + 1); picked != nil {
				return picked
			}
		}
	}
	for size := d.least; size <= min(d.max, len(d.groups)) && s.tries > 0; size++ {
		clear(s.chosen[at])
		if picked := s.every(at, 0, size); picked != nil {
			return picked
		}
	}
	return nil
}

// every tries every set of this many groups from a group on.
func (s *search) every(at, from, size int) []bool {
	if size == 0 {
		return s.try(at + 1)
	}
	for i := from; i+size <= len(s.chosen[at]) && s.tries > 0; i++ {
		s.chosen[at][i] = true
		if picked := s.every(at, i+1, size-1); picked != nil {
			return picked
		}
		s.chosen[at][i] = false
	}
	return nil
}

// The orders in which groups are tried: that of preference, in which they are, that of room and that of clusters.
const (
	byPreference = iota
	byCapacity
	byClusters
)

// sort sorts the groups in each order in which they are tried.
func (d *dimension) sort() {
	d.orders = make([][]int, 3)
	for at, by := range []func(a, b *group) int{
		byPreference: func(*group, *group) int { return 0 },
		byCapacity:   func(a, b *group) int { return cmp.Compare(b.capacity, a.capacity) },
		byClusters:   func(a, b *group) int { return cmp.Compare(b.clusters, a.clusters) },
	} {
		out := make([]int, len(d.groups))
		for i := range out {
			out[i] = i
		}
		slices.SortStableFunc(out, func(i, j int) int { return by(&d.groups[i], &d.groups[j]) })
		d.orders[at] = out
	}
}

// enough returns the least number of groups that may have so much room and so many clusters: fewer are not worth a try. It is more than there
// are if all of them have not.
func (d *dimension) enough(capacity int64, clusters int) int {
	for size := range d.groups {
		if size >= d.min && capacity <= 0 && clusters <= 0 {
			return size
		}
		capacity -= d.groups[d.orders[byCapacity][size]].capacity
		clusters -= d.groups[d.orders[byClusters][size]].clusters
	}
	if capacity <= 0 && clusters <= 0 {
		return len(d.groups)
	}
	return len(d.groups) + 1
}

// selection says why those that were not picked were not.
func (s *search) selection(picked []bool) Selection {
	if !s.request.Explain {
		return Selection{Selected: picked}
	}
	out := Selection{Selected: picked, Limits: make([]string, len(picked))}
	counts := make([]int, len(s.dims))
	for at := range s.chosen {
		for _, in := range s.chosen[at] {
			if in {
				counts[at]++
			}
		}
	}
	for i, in := range picked {
		if in {
			continue
		}
		out.Limits[i] = fmt.Sprintf("maxGroups %d of cluster", s.clusters.max)
		for at := range s.dims {
			if !s.allowed(at, i) {
				out.Limits[i] = notAmong(counts[at], s.dims[at].name)
				break
			}
		}
	}
	return out
}

func notAmong(n int, name string) string {
	return fmt.Sprintf("spread constraint: not in the %d selected of %s", n, name)
}

// allowed says whether all groups of a candidate are chosen.
func (s *search) allowed(at, i int) bool {
	for _, g := range s.dims[at].of[i] {
		if !s.chosen[at][g] {
			return false
		}
	}
	return true
}
