package assign

import (
	"cmp"
	"slices"
)

// dynamic shares replicas by what fits. Unless all are shared anew, what runs stays
// where it is: scaled up, only what is added is shared; scaled down, only what is
// taken away moves.
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

// tiers gives each tier as much as its weights hold, the first tier first.
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
	// No share is larger than its weight as long as the weights hold the total.
	divide(r, int32(wanted), candidates, weights, shares)
	return nil
}

// pack keeps the weights of as few clusters as hold what is wanted: those that have
// the application first, then the largest, then the first by name.
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
