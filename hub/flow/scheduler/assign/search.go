package assign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Bounds of a search, which blocks all other decisions. The first set of groups nearly always suffices.
const (
	// maxTries is how many sets of groups are tried.
	maxTries = 2000
	// maxLooks is how often all tries together check whether a cluster is in a chosen group, which takes some tens of milliseconds.
	maxLooks = 4_000_000
	// minTries is the least number of tries, however many clusters there are.
	minTries = 20
	// maxExchanges is how often all tries together replace one cluster by another.
	maxExchanges = 500_000
)

// search searches for clusters that meet every constraint.
type search struct {
	request    SelectRequest
	clusters   span
	candidates []Candidate
	order      []int
	dims       []dimension
	// chosen says which groups of each dimension are chosen.
	chosen [][]bool
	tries  int
	// exchanges is how many exchanges are left.
	exchanges int
	// best is the largest capacity of the sets that were tried, and most the largest number of clusters.
	best int64
	most int
	// picked is the set of the current try.
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

// short returns the error for too little capacity of the clusters that may be selected.
func (s *search) short(capacity, need int64) error {
	return fmt.Errorf("no enough resource when selecting %s: they have room for %d of %d replicas", s.bound(), capacity, need)
}

// bound describes how many clusters may be selected.
func (s *search) bound() string {
	if s.clusters.max == unlimited {
		return "clusters by the spread constraints"
	}
	return fmt.Sprintf("%d clusters", min(s.clusters.max, len(s.candidates)))
}

// try tries the sets of groups of one dimension, each combined with those of the following dimensions.
func (s *search) try(at int) []bool {
	if at == len(s.dims) {
		s.tries--
		return s.pick()
	}
	d := &s.dims[at]
	for size := d.least; size <= min(d.max, len(d.groups)) && s.tries > 0; size++ {
		// First the preferred groups, then those with the most capacity, then those with the most clusters. Every other set follows below.
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

// every tries every set of size groups whose indexes begin at from.
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

// The orders in which groups are tried: by preference, in which they are sorted, by capacity, and by number of clusters.
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

// enough returns a lower bound for the number of groups needed for a capacity and a number of clusters, so that fewer need not be tried. It
// is more than the number of groups if all of them are not enough.
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

// selection returns a selection with, if Explain is set, the constraint that excluded each candidate that was not picked.
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

// allowed returns whether all groups of a candidate in a dimension are chosen.
func (s *search) allowed(at, i int) bool {
	for _, g := range s.dims[at].of[i] {
		if !s.chosen[at][g] {
			return false
		}
	}
	return true
}
