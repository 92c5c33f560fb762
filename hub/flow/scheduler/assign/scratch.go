package assign

import (
	"slices"

	"fairlead.dev/common/division"
)

// Scratch holds buffers that calls reuse, so that each does not allocate for thousands of candidates. The zero value is ready; only one
// call at a time may use it. Results of a call are in it, and valid until the next call.
type Scratch struct {
	// Buffers for dividing replicas.

	shares []int32
	// weights are those of all candidates, inTier those of one tier, and packed those that Aggregated keeps.
	weights, inTier, packed []int64
	parties                 []division.Party
	divider                 division.Divider
	// indexes are indexes of candidates.
	indexes []int

	// Buffers for selecting clusters.

	selected   []bool
	dims       []dimension
	order      []int
	capacities []int64
	// allowed and larger are indexes of candidates, and byGain indexes in allowed.
	allowed, larger []int
	byGain          [][]int
	values          []string
}

// zeroes returns n zeroes in a buffer, which it grows if necessary.
func zeroes[T any](memory *[]T, n int) []T {
	*memory = slices.Grow((*memory)[:0], n)[:n]
	clear(*memory)
	return *memory
}
