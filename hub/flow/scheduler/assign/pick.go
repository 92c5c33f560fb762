package assign

import (
	"cmp"
	"slices"
)

// pick picks clusters of the chosen groups; it returns nil if these cannot meet the constraints or hold the application.
func (s *search) pick() []bool {
	allowed := s.request.Scratch.allowed[:0]
	var capacity int64
	for _, i := range s.order {
		if s.allows(i) {
			allowed = append(allowed, i)
			capacity += s.candidates[i].capacity()
		}
	}
	s.request.Scratch.allowed = allowed
	s.most = max(s.most, len(allowed))
	if len(allowed) < s.clusters.min {
		return nil
	}
	p := s.none()
	p.cover(allowed)
	for _, i := range allowed {
		if p.n < s.clusters.max && !p.in[i] {
			p.change(i, true)
		}
	}
	if !p.spread() || p.n > s.clusters.max {
		return nil
	}
	if p.capacity < s.request.Need && capacity > p.capacity {
		p.swap(allowed)
	}
	s.best = max(s.best, p.capacity)
	if p.capacity < s.request.Need {
		return nil
	}
	return p.in
}

// stay picks the clusters that have the application, and more clusters of their groups up to the maximum; it returns nil if these do not
// meet the constraints. So a selection is kept while it meets the constraints, although groups are ranked differently now.
func (s *search) stay() []bool {
	if s.request.Fresh {
		return nil
	}
	p := s.none()
	for i := range s.candidates {
		if s.candidates[i].Target {
			p.change(i, true)
		}
	}
	if p.n == 0 || p.n > s.clusters.max || !p.spread() {
		return nil
	}
	for at := range s.dims {
		if p.covered[at] > s.dims[at].max {
			return nil
		}
		for g, n := range p.counts[at] {
			s.chosen[at][g] = n > 0
		}
	}
	for _, i := range s.order {
		if p.n < s.clusters.max && !p.in[i] && s.allows(i) {
			p.change(i, true)
		}
	}
	if p.n < s.clusters.min || p.capacity < s.request.Need {
		return nil
	}
	return p.in
}

func (s *search) allows(i int) bool {
	for at := range s.dims {
		if !s.allowed(at, i) {
			return false
		}
	}
	return true
}

// picked is the set of clusters that were picked so far.
type picked struct {
	*search
	in       []bool
	n        int
	capacity int64
	// counts is the number of picked clusters of each group, by dimension, and covered the number of groups that have any.
	counts  [][]int
	covered []int
}

// none returns an empty set, reusing the memory of the last one.
func (s *search) none() *picked {
	p := &s.picked
	p.search, p.in, p.n, p.capacity = s, zeroes(&s.request.Scratch.selected, len(s.candidates)), 0, 0
	p.counts = slices.Grow(p.counts[:0], len(s.dims))[:len(s.dims)]
	for at := range s.dims {
		zeroes(&p.counts[at], len(s.dims[at].groups))
	}
	zeroes(&p.covered, len(s.dims))
	return p
}

// change adds a cluster to the set, or removes it.
func (p *picked) change(i int, in bool) {
	p.in[i] = in
	step := 1
	if !in {
		step = -1
	}
	p.n += step
	p.capacity += int64(step) * p.candidates[i].capacity()
	for at := range p.dims {
		for _, g := range p.dims[at].of[i] {
			before := p.counts[at][g]
			p.counts[at][g] += step
			switch {
			case before == 0:
				p.covered[at]++
			case p.counts[at][g] == 0:
				p.covered[at]--
			}
		}
	}
}

// spread returns whether enough groups of each dimension have a picked cluster.
func (p *picked) spread() bool {
	for at := range p.dims {
		if p.covered[at] < p.dims[at].min {
			return false
		}
	}
	return true
}

// cover greedily picks clusters until each chosen group has one: next the cluster that covers the most uncovered groups, and of equals the
// most preferred.
func (p *picked) cover(allowed []int) {
	// byGain has, for each gain, the indexes in allowed of the clusters that had this gain when last evaluated. Gains only shrink as
	// clusters are picked. So a cluster whose gain has shrunk moves to the list of its new gain, and one without any gain is dropped.
	byGain := p.request.Scratch.byGain
	for gain := range byGain {
		byGain[gain] = byGain[gain][:0]
	}
	for at, i := range allowed {
		gain := p.gain(i)
		for len(byGain) <= gain {
			byGain = append(byGain, nil)
		}
		byGain[gain] = append(byGain[gain], at)
	}
	p.request.Scratch.byGain = byGain
	for most := len(byGain) - 1; most > 0; most-- {
		slices.Sort(byGain[most])
		for _, at := range byGain[most] {
			if p.n >= p.clusters.max {
				return
			}
			if gain := p.gain(allowed[at]); gain < most {
				byGain[gain] = append(byGain[gain], at)
				continue
			}
			p.change(allowed[at], true)
		}
	}
}

func (p *picked) gain(i int) int {
	gain := 0
	for at := range p.dims {
		for _, g := range p.dims[at].of[i] {
			if p.counts[at][g] == 0 {
				gain++
			}
		}
	}
	return gain
}

// swap replaces clusters by others with more capacity, the least preferred first, without violating the spread.
func (p *picked) swap(allowed []int) {
	larger := p.request.Scratch.larger[:0]
	for _, i := range allowed {
		if !p.in[i] {
			larger = append(larger, i)
		}
	}
	p.request.Scratch.larger = larger
	slices.SortStableFunc(larger, func(i, j int) int { return cmp.Compare(p.candidates[j].capacity(), p.candidates[i].capacity()) })
	for at := len(allowed) - 1; at >= 0 && p.capacity < p.request.Need; at-- {
		out := allowed[at]
		if !p.in[out] {
			continue
		}
		for k, in := range larger {
			if p.exchanges == 0 || p.candidates[in].capacity() <= p.candidates[out].capacity() {
				break
			}
			p.exchanges--
			p.change(out, false)
			p.change(in, true)
			if p.spread() {
				larger = slices.Delete(larger, k, k+1)
				break
			}
			p.change(in, false)
			p.change(out, true)
		}
	}
}
