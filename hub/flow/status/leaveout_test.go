package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/status/aggregate"
)

// TestReportsThatMakeTheSumUnacceptableAreLeftOut adds up numbers for which an API has room up to a limit.
func TestReportsThatMakeTheSumUnacceptableAreLeftOut(t *testing.T) {
	t.Parallel()
	const (
		honest = `{"n":2}`
		most   = `{"n":2147483647}`
	)
	cases := map[string]struct {
		reports []string
		left    []int
		// broken says that aggregation fails whatever is reported.
		broken bool
		// unanswered is the first try that the API does not answer; 0 means that it answers all.
		unanswered int
	}{
		"nobody":                               {reports: []string{honest, honest}},
		"one that is too much alone":           {reports: []string{honest, `{"n":2147483648}`, honest}, left: []int{1}},
		"one that is too much for the other":   {reports: []string{honest, most}, left: []int{1}},
		"whichever is first":                   {reports: []string{most, honest}, left: []int{0}},
		"one that is too much for many":        {reports: []string{honest, honest, honest, most, honest}, left: []int{3}},
		"two that are too much for each other": {reports: []string{most, honest, most}, left: []int{0, 2}},
		"as many as it takes":                  {reports: []string{`{"n":1500000000}`, honest, `{"n":1000000000}`, honest}, left: []int{0}},
		"one alone and one together":           {reports: []string{`{"n":-1}`, honest, most}, left: []int{0, 2}},
		"whatever others count besides":        {reports: []string{`{"n":2,"bytes":8589934592}`, most, `{"n":2,"bytes":8589934592}`}, left: []int{1}},
		"who reports nothing is not":           {reports: []string{"", honest, most, ""}, left: []int{2}},
		"nobody, if it is the rules":           {reports: []string{honest, most}, broken: true},
		"nobody, if the API does not answer":   {reports: []string{honest, most}, unanswered: 1},
		"nor if it ceases to":                  {reports: []string{honest, honest, most, honest}, unanswered: 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tries := 0
			s := searched(tc.reports, func(items []workv1alpha2.AggregatedStatusItem) error {
				tries++
				switch {
				case tc.broken:
					return unacceptableError{errors.New("no status is valid")}
				case tc.unanswered > 0 && tries >= tc.unanswered:
					return errors.New("the API is away")
				}
				return fits(items)
			})
			var left []int
			for i := range s.out.Reported {
				if aggregate.IsLeftOut(&s.out.Reported[i]) {
					left = append(left, i)
				}
			}
			g.Expect(left).To(Equal(tc.left))
			g.Expect(s.found).To(Equal(len(tc.left) > 0))
			g.Expect(tries).To(BeNumerically("<=", 40))
		})
	}
}

// TestOneOfThousandsIsFoundByFewTries has one unacceptable report among thousands: each try is a request with all reports.
func TestOneOfThousandsIsFoundByFewTries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	reports := slices.Repeat([]string{`{"n":2}`}, 5000)
	reports[4321] = `{"n":2147483647}`
	tries := 0
	s := searched(reports, func(items []workv1alpha2.AggregatedStatusItem) error { tries++; return fits(items) })
	g.Expect(aggregate.IsLeftOut(&s.out.Reported[4321])).To(BeTrue())
	g.Expect(fits(s.out.Reported)).To(Succeed())
	g.Expect(tries).To(BeNumerically("<", 60))
}

// TestASumThatIsALittleTooLargeCostsFewTries has thousands whose absence each would do.
func TestASumThatIsALittleTooLargeCostsFewTries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	reports := slices.Repeat([]string{`{"n":2}`}, 5000)
	reports[4321] = fmt.Sprintf(`{"n":%d}`, math.MaxInt32-2*4999+1)
	tries := 0
	s := searched(reports, func(items []workv1alpha2.AggregatedStatusItem) error { tries++; return fits(items) })
	g.Expect(aggregate.IsLeftOut(&s.out.Reported[4321])).To(BeTrue(), "who claims most")
	g.Expect(fits(s.out.Reported)).To(Succeed())
	g.Expect(tries).To(BeNumerically("<", 60))
}

// TestWhereAnyTwoAreTooManyTheTriesAreBounded has thousands of reports, of which any two must be left out.
func TestWhereAnyTwoAreTooManyTheTriesAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tries := 0
	s := searched(slices.Repeat([]string{`{"n":429600}`}, 5000), func(items []workv1alpha2.AggregatedStatusItem) error { tries++; return fits(items) })
	g.Expect(fits(s.out.Reported)).To(Succeed())
	g.Expect(tries).To(BeNumerically("<", 250))
}

// searched runs a search among reports that are unacceptable together.
func searched(reports []string, try func([]workv1alpha2.AggregatedStatusItem) error) *search {
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	s := &search{out: decided(reports), known: &memory{left: map[string]aggregate.LeftOut{}}, try: try, clock: now, until: now.Now().Add(longestSearch)}
	if err := fits(s.out.Reported); err != nil {
		s.search(err)
	}
	return s
}

func decided(statuses []string) *aggregate.Decision {
	out := &aggregate.Decision{}
	for i, status := range statuses {
		item := workv1alpha2.AggregatedStatusItem{ClusterName: fmt.Sprintf("edge-%04d", i), Applied: true}
		if status != "" {
			item.Status = &runtime.RawExtension{Raw: []byte(status)}
		}
		out.Reported = append(out.Reported, item)
	}
	out.Items = slices.Clone(out.Reported)
	return out
}

// fits returns an error unless the API accepts the sum of n.
func fits(items []workv1alpha2.AggregatedStatusItem) error {
	sum := 0
	for i := range items {
		if items[i].Status == nil {
			continue
		}
		var said struct{ N int }
		if err := json.Unmarshal(items[i].Status.Raw, &said); err != nil {
			return fmt.Errorf("reading what %q reports: %w", items[i].ClusterName, err)
		}
		sum += said.N
		if said.N < 0 {
			return unacceptableError{errors.New("less than nothing")}
		}
	}
	if sum > math.MaxInt32 {
		return unacceptableError{errors.New("too much")}
	}
	return nil
}
