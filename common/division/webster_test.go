package division_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/division"
)

func parties(weights ...int64) []division.Party {
	out := make([]division.Party, len(weights))
	for i, w := range weights {
		out[i] = division.Party{Name: string(rune('a' + i)), Weight: w}
	}
	return out
}

func shares(ps []division.Party) []int32 {
	out := make([]int32, len(ps))
	for i, p := range ps {
		out[i] = p.Share
	}
	return out
}

func TestWebster(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		total      int32
		weights    []int64
		descending bool
		want       []int32
	}{
		"an even tie goes to the first name":             {5, []int64{1, 1}, false, []int32{3, 2}},
		"an odd tie goes to the last name":               {5, []int64{1, 1}, true, []int32{2, 3}},
		"equal weights share equally":                    {12, []int64{10, 10}, false, []int32{6, 6}},
		"nine at one to two":                             {9, []int64{1, 2}, false, []int32{3, 6}},
		"nine at one to three":                           {9, []int64{1, 3}, false, []int32{2, 7}},
		"one replica goes to the largest weight":         {1, []int64{1, 3, 2}, false, []int32{0, 1, 0}},
		"of equal averages the smaller share goes first": {2, []int64{3, 1}, true, []int32{1, 1}},
		"a party without weight gets nothing":            {7, []int64{0, 1}, false, []int32{0, 7}},
		"a negative weight is no weight":                 {7, []int64{-5, 1}, false, []int32{0, 7}},
		"no weights at all, no shares":                   {7, []int64{0, 0}, false, []int32{0, 0}},
		"nothing to share":                               {0, []int64{1, 1}, false, []int32{0, 0}},
		"less than nothing to share":                     {-3, []int64{1, 1}, false, []int32{0, 0}},
		"no parties":                                     {3, nil, false, []int32{}},
		"large numbers take no longer":                   {2147483647, []int64{1, 1}, false, []int32{1073741824, 1073741823}},
		"large weights do not overflow":                  {4, []int64{1 << 62, 1 << 62, 1 << 62}, true, []int32{1, 1, 2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(shares(division.Webster(tt.total, parties(tt.weights...), tt.descending))).To(Equal(tt.want))
		})
	}
}

func TestWebsterSortsByNameAndLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := []division.Party{{Name: "z", Weight: 1, Share: 9}, {Name: "a", Weight: 2}}
	out := division.Webster(3, in, false)
	g.Expect(out).To(Equal([]division.Party{{Name: "a", Weight: 2, Share: 2}, {Name: "z", Weight: 1, Share: 1}}))
	g.Expect(in[0]).To(Equal(division.Party{Name: "z", Weight: 1, Share: 9}))
}

// TestWebsterEqualsGivingOneByOne compares many divisions with the definition.
func TestWebsterEqualsGivingOneByOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewSource(1))
	for range 3000 {
		in := make([]division.Party, 1+random.Intn(12))
		var sum int64
		for i := range in {
			in[i] = division.Party{Name: fmt.Sprintf("m%02d", i), Weight: random.Int63n([]int64{2, 5, 1000}[random.Intn(3)])}
			sum += in[i].Weight
		}
		total, descending := int32(random.Intn(400)), random.Intn(2) == 0
		want := oneByOne(total, in, descending)

		shuffled := slices.Clone(in)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got := division.Webster(total, shuffled, descending)
		g.Expect(got).To(Equal(want), "total %d of %v", total, in)

		var given int32
		for _, p := range got {
			given += p.Share
		}
		if sum > 0 {
			g.Expect(given).To(Equal(total))
		}
	}
}

// TestWebsterIsMonotone checks that one more replica to divide takes none from anybody.
func TestWebsterIsMonotone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := parties(7, 1, 3, 3, 0, 12)
	last := shares(division.Webster(0, in, true))
	for total := int32(1); total < 300; total++ {
		next := shares(division.Webster(total, in, true))
		for i := range next {
			g.Expect(next[i]).To(BeNumerically(">=", last[i]))
		}
		last = next
	}
}

func TestDescendingTies(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(division.DescendingTies("")).To(BeFalse(), "no UID, ascending")
	g.Expect(division.DescendingTies("a")).To(BeFalse(), "fnv32a(a) is e40c292c")
	g.Expect(division.DescendingTies("b")).To(BeTrue(), "fnv32a(b) is e70c2de5")
}

func oneByOne(total int32, in []division.Party, descending bool) []division.Party {
	out := slices.Clone(in)
	for range total {
		best := -1
		for i := range out {
			if out[i].Weight == 0 {
				continue
			}
			if best < 0 {
				best = i
				continue
			}
			a, b := out[i], out[best]
			va, vb := float64(a.Weight)/float64(2*a.Share+1), float64(b.Weight)/float64(2*b.Share+1)
			if va > vb || (va == vb && (a.Share < b.Share || (a.Share == b.Share && descending))) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		out[best].Share++
	}
	return out
}

func BenchmarkWebsterHundredParties(b *testing.B) {
	in := make([]division.Party, 100)
	for i := range in {
		in[i] = division.Party{Name: fmt.Sprintf("m%d", i), Weight: int64(1 + i*i)}
	}
	b.ReportAllocs()
	for b.Loop() {
		division.Webster(10000, in, true)
	}
}
