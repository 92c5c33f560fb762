package division_test

import (
	"math"
	"math/rand"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/division"
)

func TestBounded(t *testing.T) {
	t.Parallel()
	const most = division.Unbounded
	type bounds = []division.Bounds
	tests := map[string]struct {
		total   int32
		weights []int64
		bounds  bounds
		want    []int32
		rest    int32
	}{
		"who is within the bounds anyway gets what the weights say": {9, []int64{1, 2}, bounds{{1, 4}, {2, most}}, []int32{3, 6}, 0},
		"a minimum is had first, the others share what is left":     {9, []int64{1, 8}, bounds{{4, most}, {0, most}}, []int32{4, 5}, 0},
		"what a maximum turns away goes to the others":              {9, []int64{8, 1}, bounds{{0, 2}, {0, most}}, []int32{2, 7}, 0},
		"what no maximum takes is left over":                        {9, []int64{1, 1}, bounds{{0, 2}, {0, 3}}, []int32{2, 3}, 4},
		"too little for the minimums is divided up to them":         {3, []int64{1, 2}, bounds{{1, most}, {5, most}}, []int32{1, 2}, 0},
		"a maximum prevails over a minimum":                         {5, []int64{1, 1}, bounds{{4, 1}, {0, most}}, []int32{1, 4}, 0},
		"a maximum of none is no part":                              {5, []int64{9, 1}, bounds{{0, 0}, {0, most}}, []int32{0, 5}, 0},
		"without a weight there is nothing, whatever the minimum":   {5, []int64{0, 1}, bounds{{3, most}, {0, most}}, []int32{0, 5}, 0},
		"negative bounds are none":                                  {5, []int64{1, 1}, bounds{{-3, -1}, {-1, most}}, []int32{0, 5}, 0},
		"nothing to share":                                          {0, []int64{1, 1}, bounds{{2, most}, {0, most}}, []int32{0, 0}, 0},
		"less than nothing to share":                                {-4, []int64{1}, bounds{{2, most}}, []int32{0}, 0},
		"all that there can be takes no longer":                     {math.MaxInt32, []int64{1, 1 << 62}, bounds{{5, most}, {0, 7}}, []int32{math.MaxInt32 - 7, 7}, 0},
		"minimums beyond all numbers":                               {5, []int64{1, 1}, bounds{{most, most}, {most, most}}, []int32{3, 2}, 0},
		"nobody":                                                    {5, nil, nil, []int32{}, 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out, rest := division.Bounded(tt.total, parties(tt.weights...), tt.bounds, false)
			g.Expect(shares(out)).To(Equal(tt.want))
			g.Expect(rest).To(Equal(tt.rest))
		})
	}
}

// TestBoundedIsOneAfterTheOther compares with a division one by one, and without bounds with Webster.
func TestBoundedIsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewSource(5))
	for range 3000 {
		n := 1 + random.Intn(6)
		weights, bounds, free := make([]int64, n), make([]division.Bounds, n), make([]division.Bounds, n)
		for i := range weights {
			weights[i] = random.Int63n(6) * []int64{1, 1000, 1 << 50}[random.Intn(3)]
			bounds[i] = division.Bounds{Min: random.Int31n(5), Max: random.Int31n(40)}
			free[i].Max = division.Unbounded
		}
		total, descending := random.Int31n(120), random.Intn(2) == 1
		ps := parties(weights...)

		unbounded, _ := division.Bounded(total, ps, free, descending)
		g.Expect(unbounded).To(Equal(division.Webster(total, ps, descending)))

		got, rest := division.Bounded(total, ps, bounds, descending)
		want, wantRest := oneAfterTheOther(total, ps, bounds, descending)
		g.Expect(shares(got)).To(Equal(want), "%d of %v within %v", total, weights, bounds)
		g.Expect(rest).To(Equal(wantRest))
	}
}

func oneAfterTheOther(total int32, parties []division.Party, bounds []division.Bounds, descending bool) (out []int32, rest int32) {
	out = make([]int32, len(parties))
	lows, highs := make([]int32, len(parties)), make([]int32, len(parties))
	var sum int32
	for i, p := range parties {
		if p.Weight > 0 {
			lows[i], highs[i] = min(bounds[i].Min, bounds[i].Max), bounds[i].Max
			sum += lows[i]
		}
	}
	if sum > total {
		lows, highs = make([]int32, len(parties)), lows
		sum = 0
	}
	copy(out, lows)
	for rest = total - sum; rest > 0; rest-- {
		best := -1
		for i := range parties {
			if out[i] < highs[i] && (best < 0 || entitled(parties, out, i, best, descending)) {
				best = i
			}
		}
		if best < 0 {
			return out, rest
		}
		out[best]++
	}
	return out, 0
}

func entitled(parties []division.Party, out []int32, i, j int, descending bool) bool {
	a, b := float64(parties[i].Weight)/float64(2*out[i]+1), float64(parties[j].Weight)/float64(2*out[j]+1)
	switch {
	case a != b:
		return a > b
	case out[i] != out[j]:
		return out[i] < out[j]
	default:
		return (i < j) != descending
	}
}
