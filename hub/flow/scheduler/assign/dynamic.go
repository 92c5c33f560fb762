package assign

import (
	"cmp"
	"slices"
)

// dynamic divides replicas by capacity. Unless r.Fresh, running replicas stay where they are: scaling up divides only the added replicas,
// and scaling down shrinks the shares in proportion to what is assigned.
func dynamic(r Request, candidates []Candidate, shares []int32) *Shortage {
	var assigned int64
	for i := range candidates {
		assigned += int64(candidates[i].Assigned)
	}
	wanted := int64(r.Replicas)
	weights := zeroes(&r.Scratch.weights, len(candidates))
	switch {
	case r.Fresh:
		for i := range candidates {
			weights[i] = int64(candidates[i].Available) + int64(candidates[i].Assigned)
		}
		return tiers(r, wanted, candidates, weights, shares)
	case assigned > wanted:
		for i := range candidates {
			weights[i] = int64(candidates[i].Assigned)
		}
		return tiers(r, wanted, candidates, weights, shares)
	default:
		for i := range candidates {
			weights[i] = int64(candidates[i].Available)
			shares[i] = candidates[i].Assigned
		}
		return tiers(r, wanted-assigned, candidates, weights, shares)
	}
}

// tiers gives each tier as much as the sum of its weights, the first tier first.
func tiers(r Request, wanted int64, candidates []Candidate, weights []int64, shares []int32) *Shortage {
	if wanted <= 0 {
		return nil
	}
	last := 0
	for i := range candidates {
		last = max(last, candidates[i].Tier)
	}
	if last == 0 {
		return within(r, wanted, candidates, weights, shares)
	}
	rest := wanted
	for tier := 0; tier <= last && rest > 0; tier++ {
		var sum int64
		of := zeroes(&r.Scratch.inTier, len(weights))
		for i := range candidates {
			if candidates[i].Tier == tier {
				of[i] = weights[i]
				sum += weights[i]
			}
		}
		part := min(rest, sum)
		if part == 0 {
			continue
		}
		if short := within(r, part, candidates, of, shares); short != nil {
			return short
		}
		rest -= part
	}
	if rest > 0 {
		return &Shortage{Available: wanted - rest, Wanted: wanted}
	}
	return nil
}

func within(r Request, wanted int64, candidates []Candidate, weights []int64, shares []int32) *Shortage {
	var sum int64
	for _, w := range weights {
		sum += w
	}
	if sum < wanted {
		return &Shortage{Available: sum, Wanted: wanted}
	}
	if r.Strategy == Aggregated {
		weights = pack(r, wanted, candidates, weights)
	}
	// No share exceeds its weight, because the weights sum up to at least the total.
	divide(r, int32(wanted), candidates, weights, shares)
	return nil
}

// pack keeps the weights of as few clusters as needed to hold what is wanted: first those that have replicas (unless r.Fresh), then the
// largest, and ties by name.
func pack(r Request, wanted int64, candidates []Candidate, weights []int64) []int64 {
	order := slices.Grow(r.Scratch.indexes[:0], len(weights))
	for i, w := range weights {
		if w > 0 {
			order = append(order, i)
		}
	}
	r.Scratch.indexes = order
	slices.SortFunc(order, func(i, j int) int {
		if !r.Fresh {
			if hasI, hasJ := candidates[i].Assigned > 0, candidates[j].Assigned > 0; hasI != hasJ {
				if hasI {
					return -1
				}
				return 1
			}
		}
		return cmp.Or(cmp.Compare(weights[j], weights[i]), cmp.Compare(i, j))
	})
	packed := zeroes(&r.Scratch.packed, len(weights))
	var sum int64
	for _, i := range order {
		if sum >= wanted {
			break
		}
		packed[i] = weights[i]
		sum += weights[i]
	}
	return packed
}
