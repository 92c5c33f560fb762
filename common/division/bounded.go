package division

import (
	"cmp"
	"math"
	"slices"
)

// Bounds are the minimum and the maximum share of a party.
type Bounds struct {
	// Min is no bound if it is negative. A Max below Min counts as Min.
	Min, Max int32
}

// Unbounded is the Max of a party without a maximum.
const Unbounded = math.MaxInt32

// Bounded is Webster for parties with bounds, given in the same order. Everybody gets the minimum before the division
// proceeds as usual, and a party that reaches its maximum takes no further part. So a bound changes nothing for
// parties that are within theirs anyway.
//
// If the total is less than the sum of all minimums, these serve as the maximums of a division without minimums. What
// exceeds all maximums is returned as rest. A party without a weight gets nothing.
func Bounded(total int32, parties []Party, bounds []Bounds, descendingTies bool) (out []Party, rest int32) {
	byName := make([]int, len(parties))
	for i := range byName {
		byName[i] = i
	}
	slices.SortFunc(byName, func(i, j int) int { return cmp.Compare(parties[i].Name, parties[j].Name) })
	b := bounded{out: make([]Party, len(parties)), bounds: make([]Bounds, len(parties)), rest: max(int64(total), 0)}
	var minimums int64
	for to, from := range byName {
		b.out[to] = parties[from]
		if parties[from].Weight > 0 {
			limits := Bounds{Min: max(bounds[from].Min, 0), Max: max(bounds[from].Max, 0)}
			limits.Min = min(limits.Min, limits.Max)
			b.bounds[to] = limits
			minimums += int64(limits.Min)
		}
	}
	if minimums > b.rest {
		for i, limits := range b.bounds {
			b.bounds[i] = Bounds{Max: limits.Min}
		}
	}
	b.begin()
	b.share(descendingTies)
	return b.out, int32(b.rest)
}

// bounded is the state of a division with bounds. The bounds are in the order of the parties, which are sorted by
// name.
type bounded struct {
	out    []Party
	bounds []Bounds
	rest   int64
}

// begin gives each party what it gets in any case, about two less than its share: its minimum, or what the division
// has certainly reached at the average that gives everything away. That average is found by bisection, since with
// bounds there is no formula.
func (b *bounded) begin() {
	low, high := 0.0, 4.0
	for i := range b.out {
		high = max(high, 4*float64(b.out[i].Weight)) // nobody has more than the minimum yet
	}
	for range 160 { // from the largest weight down to the last bit of one share of the largest total
		middle := (low + high) / 2
		var sum int64
		for i := range b.out {
			sum += int64(b.at(i, middle))
		}
		if sum > b.rest {
			low = middle
		} else {
			high = middle
		}
	}
	for i := range b.out {
		p := &b.out[i]
		p.Share = max(b.at(i, high)-2, b.bounds[i].Min)
		b.rest -= int64(p.Share)
	}
}

// at returns the share of the i-th party once the division has reached an average, rounded to the nearest integer.
func (b *bounded) at(i int, average float64) int32 {
	limits := b.bounds[i]
	if limits.Max == 0 {
		return 0
	}
	share := math.Round(float64(b.out[i].Weight) / average)
	return int32(min(max(share, float64(limits.Min)), float64(limits.Max)))
}

// share distributes the rest, one by one.
func (b *bounded) share(descendingTies bool) {
	before := func(i, j int) bool { return goesBefore(b.out, i, j, descendingTies) }
	full := func(i int) bool { return b.out[i].Share >= b.bounds[i].Max }
	var heap []int
	for i := range b.out {
		if !full(i) {
			heap = append(heap, i)
		}
	}
	order(heap, before)
	for b.rest > 0 && len(heap) > 0 {
		top := heap[0]
		b.out[top].Share++
		b.rest--
		if full(top) {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		if len(heap) > 0 {
			sink(heap, 0, before)
		}
	}
}
