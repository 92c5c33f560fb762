package assign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxTries span how many sets of groups are tried. The first nearly always does.
const maxTries = 2000

// search looks for clusters that meet every constraint.
type search struct {
	request    SelectRequest
	clusters   span
	candidates []Candidate
	order      []int
	dims       []dimension
	// several says that a cluster may be in several groups, of one constraint or of more
	// than one.
	several bool
	// chosen says of each dimension which of its groups are.
	chosen [][]bool
	tries  int
	// best is the most room of the sets that were tried, and most the most clusters.
	best int64
	most int
}

func (s *search) run() (Selection, error) {
	s.chosen = make([][]bool, len(s.dims))
	for at := range s.dims {
		s.chosen[at] = make([]bool, len(s.dims[at].groups))
	}
	s.several = len(s.dims) > 1 || len(s.dims) == 1 && slices.ContainsFunc(s.dims[0].of, func(of []int) bool { return len(of) > 1 })
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
	for size := d.min; size <= min(d.max, len(d.groups)) && s.tries > 0; size++ {
		// The preferred groups first, then those with the most room, then those with
		// the most clusters, then every set.
		for _, by := range []func(a, b *group) int{
			nil,
			func(a, b *group) int { return cmp.Compare(b.capacity, a.capacity) },
			func(a, b *group) int { return cmp.Compare(b.clusters, a.clusters) },
		} {
			clear(s.chosen[at])
			for _, i := range d.top(size, by) {
				s.chosen[at][i] = true
			}
			if picked := s.try(at + 1); picked != nil {
				return picked
			}
		}
	}
	for size := d.min; size <= min(d.max, len(d.groups)) && s.tries > 0; size++ {
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

// top returns the first groups in an order; nil is the order of preference.
func (d *dimension) top(size int, by func(a, b *group) int) []int {
	out := make([]int, len(d.groups))
	for i := range out {
		out[i] = i
	}
	if by != nil {
		slices.SortStableFunc(out, func(i, j int) int { return by(&d.groups[i], &d.groups[j]) })
	}
	return out[:size]
}

// selection says why those that were not picked were not.
func (s *search) selection(picked []bool) Selection {
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
