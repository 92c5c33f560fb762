package meter_test

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/bench/meter"
)

func TestBarsSayWhichPromisesAreMissed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var b meter.Bars
	g.Expect(b.String()).To(BeEmpty())
	g.Expect(b.Missed()).To(BeZero())

	b.Most("seconds until it is there", 1, 1, "s")
	b.Most("conflicts", 0.25, 0, "")
	b.Least("part of what passes", 50.5, 50, "%")
	b.Least("lines", 9, 10, "")
	b.Most("an update beside a creation", 1.004, 1, "x") // no measurement is that exact
	b.Most("a deletion beside a creation", 1.006, 1, "x")
	g.Expect(b.Missed()).To(Equal(3))
	g.Expect(b.String()).To(Equal(`| what was promised            | measured | bar      | ok     |
| ---                          | ---      | ---      | ---    |
| seconds until it is there    | 1.00 s   | ≤ 1.00 s | ok     |
| conflicts                    | 0.250    | ≤ 0      | MISSED |
| part of what passes          | 50.5 %   | ≥ 50.0 % | ok     |
| lines                        | 9.00     | ≥ 10.0   | MISSED |
| an update beside a creation  | 1.00 x   | ≤ 1.00 x | ok     |
| a deletion beside a creation | 1.01 x   | ≤ 1.00 x | MISSED |
`))
}

// TestWhatWasNotMeasuredIsMissed adds a quotient of zeros.
func TestWhatWasNotMeasuredIsMissed(t *testing.T) {
	t.Parallel()
	var b meter.Bars
	b.Most("writes of each", math.NaN(), 11, "")
	b.Least("part of what passes", math.NaN(), 50, "%")
	NewWithT(t).Expect(b.Missed()).To(Equal(2))
}

func TestEachBarIsReportedToWhoWaits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var told []any
	b := meter.Bars{Report: func(_ string, args ...any) { told = append(told, args...) }}
	b.Most("writes", 12.3, 11, "")
	g.Expect(told).To(Equal([]any{"writes", "12.3", "≤ 11.0", "MISSED"}))
}

func TestFiguresHaveThreeDigitsThatCount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for value, want := range map[float64]string{0: "0", 0.0471: "0.047", 1.5: "1.50", 23.44: "23.4", 1234.4: "1234", -12.34: "-12.3"} {
		g.Expect(meter.Figure(value, "")).To(Equal(want))
	}
	g.Expect(meter.Figure(3, "kB/s")).To(Equal("3.00 kB/s"))
}

func TestATableTellsWhatARowLacks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	table := meter.NewTable("what", "small", "large")
	table.Row("time", "1 s")
	g.Expect(table.String()).To(Equal(`| what | small | large |
| ---  | ---   | ---   |
| time | 1 s   | –     |
`))
}
