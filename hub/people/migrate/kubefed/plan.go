package kubefed

import (
	"cmp"
	"hash/fnv"
	"math/big"
	"slices"
)

// plan computes how KubeFed divides replicas: the share of each cluster that gets any. Key is the object's
// namespace/name. Capacity and present replicas are unknown, so everything is assumed to fit, and the plan starts from
// nothing.
//
//  1. Clusters are sorted by weight, the heaviest first, and at equal weight by the hash of name and key.
//  2. Each gets its minimum while any replicas are left.
//  3. The rest is divided by weight, rounded up, in this order; clusters that reach their maximum drop
//     out, and what is left is divided again.
func plan(total int64, clusters []string, key string, preferences map[string]clusterPreference) map[string]int64 {
	if len(preferences) == 0 {
		preferences = map[string]clusterPreference{everyOther: {Weight: 1}}
	}
	parties := partiesOf(clusters, key, preferences)
	out, rest := map[string]int64{}, max(total, 0)
	for _, p := range parties {
		first := min(max(p.MinReplicas, 0), rest)
		out[p.name] = first
		rest -= first
	}
	divideRest(out, rest, parties)
	for name, n := range out {
		if n <= 0 {
			delete(out, name)
		}
	}
	return out
}

// party is a cluster that may get replicas.
type party struct {
	clusterPreference
	name string
	hash uint32
}

// partiesOf returns the clusters with a preference, in the order of step 1.
func partiesOf(clusters []string, key string, preferences map[string]clusterPreference) []party {
	var parties []party
	for _, name := range clusters {
		preference, ok := preferences[name]
		if !ok {
			if preference, ok = preferences[everyOther]; !ok {
				continue
			}
		}
		h := fnv.New32()
		_, _ = h.Write([]byte(name + key)) // a hash never fails
		parties = append(parties, party{clusterPreference: preference, name: name, hash: h.Sum32()})
	}
	slices.SortFunc(parties, func(a, b party) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.hash, b.hash), cmp.Compare(a.name, b.name))
	})
	return parties
}

// divideRest implements step 3.
func divideRest(out map[string]int64, rest int64, parties []party) {
	for again := true; again && rest > 0; {
		again = false
		weights := new(big.Int)
		for _, p := range parties {
			weights.Add(weights, big.NewInt(max(p.Weight, 0)))
		}
		round, left := rest, parties[:0]
		for _, p := range parties {
			if p.Weight <= 0 {
				continue
			}
			before := out[p.name]
			after := before + min(share(round, p.Weight, weights), rest)
			full := p.MaxReplicas != nil && after > *p.MaxReplicas
			if full {
				after = *p.MaxReplicas
			} else {
				left = append(left, p)
			}
			rest -= after - before
			out[p.name] = after
			again = again || after > before
		}
		parties = left
	}
}

// share returns total * weight / weights, rounded up. No value overflows.
func share(total, weight int64, weights *big.Int) int64 {
	n := new(big.Int).Mul(big.NewInt(total), big.NewInt(weight))
	n.Add(n, weights).Sub(n, big.NewInt(1))
	return n.Div(n, weights).Int64()
}
