package assign

import (
	"slices"

	"fairlead.dev/common/division"
)

// Scratch is memory in which one call after the other works, so that thousands of candidates cost none of their own each time. The zero
// value is ready; one call at a time may use it. What a call returns is in it, and good until the next call.
type Scratch struct {
	// What shares replicas.

	shares []int32
	// weights are those of all candidates, inTier those of one tier, and packed those that are left by Aggregated.
	weights, inTier, packed []int64
	parties                 []division.Party
	divider                 division.Divider
	// indexes are those of candidates.
	indexes []int

	// What selects clusters.

	selected   []bool
	dims       []dimension
	order      []int
	capacities []int64
	// allowed and larger are indexes of candidates, and byGain of those that are allowed.
	allowed, larger []int
	byGain          [][]int
	values          []string
}

// zeroes returns n zeroes in some memory, which grows if it is too small.
func zeroes[T any](memory *[]T, n int) []T {
	*memory = slices.Grow((*memory)[:0], n)[:n]
	clear(*memory)
	return *memory
}
