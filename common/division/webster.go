package division

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

// Party is a participant in a division.
type Party struct {
	// Name is unique among the parties.
	Name string
	// Weight determines the share, which is proportional to it. A negative weight counts as 0.
	Weight int64
	// Share is the result; its previous value does not matter.
	Share int32
}

// Webster divides total among the parties and returns them sorted by name, each with its share. The shares add up to
// total, unless all weights are 0 or total is not positive: then every share is 0.
//
// One after the other is given to the party with the largest weight/(2*share+1). Ties go to the party with the
// smaller share so far, then to the first by name, or the last if descendingTies is set.
func Webster(total int32, parties []Party, descendingTies bool) []Party {
	out := slices.Clone(parties)
	slices.SortFunc(out, func(a, b Party) int { return cmp.Compare(a.Name, b.Name) })
	new(Divider).Divide(total, out, descendingTies)
	return out
}

// Divider divides with memory that it reuses. The zero value is ready to use; it is not safe for concurrent use.
type Divider struct{ heap []int }

// Divide is Webster for parties that are sorted by name; it sets their shares.
func (d *Divider) Divide(total int32, parties []Party, descendingTies bool) {
	var sum float64
	for i := range parties {
		parties[i].Share = 0
		parties[i].Weight = max(parties[i].Weight, 0)
		sum += float64(parties[i].Weight)
	}
	if sum == 0 || total <= 0 {
		return
	}
	rest := skipAhead(total, parties, sum)

	// The heap holds indexes of parties; its top is next to receive one.
	before := func(i, j int) bool { return goesBefore(parties, i, j, descendingTies) }
	d.heap = slices.Grow(d.heap[:0], len(parties))
	for i := range parties {
		if parties[i].Weight > 0 {
			d.heap = append(d.heap, i)
		}
	}
	order(d.heap, before)
	for ; rest > 0; rest-- {
		parties[d.heap[0]].Share++
		sink(d.heap, 0, before)
	}
}

// DescendingTies returns how ties are broken for the object with this UID, so that the odd replica of all
// applications does not always go to the first cluster by name.
func DescendingTies(uid string) bool {
	if uid == "" {
		return false
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash never fails
	return h.Sum32()%2 == 1
}

// skipAhead gives each party what it gets in any case and returns what is left, about two per party, so that a
// division costs the same for ten replicas and for a million.
//
// Parties that receive everything down to an average of sum/(2*m) have received their quota of m, rounded to the
// nearest integer. Together they have then received at most m + n/2, n being their number, so with m = total - n/2
// not more than there is. One less for each leaves room for rounding errors.
func skipAhead(total int32, parties []Party, sum float64) int32 {
	m := float64(total) - float64(len(parties))/2
	rest := total
	for i := range parties {
		if sure := math.Round(m*(float64(parties[i].Weight)/sum)) - 1; sure > 0 {
			parties[i].Share = int32(sure)
			rest -= parties[i].Share
		}
	}
	return rest
}

func goesBefore(parties []Party, i, j int, descendingTies bool) bool {
	a, b := &parties[i], &parties[j]
	if c := cmp.Compare(average(a), average(b)); c != 0 {
		return c > 0
	}
	if a.Share != b.Share {
		return a.Share < b.Share
	}
	return (i < j) != descendingTies
}

func average(p *Party) float64 { return float64(p.Weight) / float64(2*int64(p.Share)+1) }

// order makes a heap of indexes.
func order(heap []int, before func(i, j int) bool) {
	for at := len(heap)/2 - 1; at >= 0; at-- {
		sink(heap, at, before)
	}
}

// sink restores the heap below an entry that has changed.
func sink(heap []int, at int, before func(i, j int) bool) {
	for {
		next := 2*at + 1
		if next >= len(heap) {
			return
		}
		if next+1 < len(heap) && before(heap[next+1], heap[next]) {
			next++
		}
		if !before(heap[next], heap[at]) {
			return
		}
		heap[at], heap[next] = heap[next], heap[at]
		at = next
	}
}
