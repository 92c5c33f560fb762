package quantity_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/common/quantity"
)

func TestParse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for text, want := range map[string]string{"100m": "100m", "1e3": "1e3", "1E": "1E", "2Ei": "2Ei", "1e-3": "1e-3", "1E+2": "100", "0.5": "500m"} {
		q, err := quantity.Parse(text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(q.String()).To(Equal(want))
	}
	for _, text := range []string{"1e999999999", "1e-999999999", "1E31", "-1e+9999999999999999999999", "much", "", strings.Repeat("1", 101)} {
		_, err := quantity.Parse(text)
		g.Expect(err).To(HaveOccurred(), text)
	}
}

func TestAmountsAreNotLessThanNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, text := range []string{"0", "-0", "1", "100m", "1e3", "", "much", "null"} {
		g.Expect(quantity.CheckAmount(text)).To(Succeed(), text)
	}
	for _, text := range []string{"-1", "-100m", " -1", "-1e-3", "-1Gi", "1e999999999"} {
		g.Expect(quantity.CheckAmount(text)).NotTo(Succeed(), text)
	}
	var amounts map[string]quantity.Checked
	g.Expect(json.Unmarshal([]byte(`{"cpu": "1", "memory": 5, "pods": null}`), &amounts)).To(Succeed())
	for _, text := range []string{`{"cpu": "-1"}`, `{"cpu": " -1"}`, `{"cpu": -1}`, `{"cpu": -1.5}`} {
		g.Expect(json.Unmarshal([]byte(text), &amounts)).NotTo(Succeed(), text)
	}
}

func TestWhatIsTooMuchForANumber(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sum := resource.MustParse("5E")
	sum.Add(sum)
	for text, want := range map[string][2]int64{
		"0": {0, 0}, "1": {1, 1000}, "1m": {1, 1}, "1500m": {2, 1500}, "1n": {1, 1}, "-1500m": {-2, -1500}, "2Gi": {2 << 30, 2000 << 30},
		"9223372036854775":       {9223372036854775, 9223372036854775000},
		"9223372036854775.807":   {9223372036854776, math.MaxInt64},
		"9223372036854776":       {9223372036854776, math.MaxInt64},
		"9300000000000000.0001":  {9300000000000001, math.MaxInt64},
		"9223372036854775807":    {math.MaxInt64, math.MaxInt64},
		"1e30":                   {math.MaxInt64, math.MaxInt64},
		"-9300000000000000.0001": {-9300000000000001, -math.MaxInt64},
		sum.String():             {math.MaxInt64, math.MaxInt64},
	} {
		q := resource.MustParse(text)
		g.Expect(quantity.Value(q)).To(Equal(want[0]), text)
		g.Expect(quantity.MilliValue(q)).To(Equal(want[1]), text)
		g.Expect(q).To(Equal(resource.MustParse(text)), "it stays as it is")
	}
	g.Expect(quantity.Value(*resource.NewQuantity(math.MinInt64, resource.DecimalSI))).To(BeEquivalentTo(-math.MaxInt64))
	g.Expect(quantity.Value(sum)).To(BeEquivalentTo(math.MaxInt64))
	g.Expect(quantity.MilliValue(sum)).To(BeEquivalentTo(math.MaxInt64))
	for _, c := range [][4]int64{ // numbers, their sum and their difference
		{3, 4, 7, -1},
		{math.MaxInt64, 1, math.MaxInt64, math.MaxInt64 - 1},
		{math.MaxInt64, -1, math.MaxInt64 - 1, math.MaxInt64},
		{-2, math.MaxInt64, math.MaxInt64 - 2, math.MinInt64},
		{math.MinInt64, -1, math.MinInt64, math.MinInt64 + 1},
		{-1, math.MinInt64, math.MinInt64, math.MaxInt64},
		{0, math.MinInt64, math.MinInt64, math.MaxInt64},
		{math.MinInt64, math.MinInt64, math.MinInt64, 0},
	} {
		g.Expect(quantity.Plus(c[0], c[1])).To(Equal(c[2]), "%d + %d", c[0], c[1])
		g.Expect(quantity.Minus(c[0], c[1])).To(Equal(c[3]), "%d - %d", c[0], c[1])
	}
}
