package status

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/hub/flow/status/aggregate"
)

// TestTooManyForTheRulesCostAFewTries has rules with a limit of one second, of which each item uses a part.
func TestTooManyForTheRulesCostAFewTries(t *testing.T) {
	t.Parallel()
	const honest = `{"n":2}`
	cases := map[string]struct {
		clusters int
		// room is how many clusters fit into the time limit.
		room int
		// slow is the cluster that alone takes all the time; -1 if there is none.
		slow int
		left []int
		// tries is how many tries are allowed.
		tries int
	}{
		"a few too many":               {clusters: 2000, room: 1500, slow: -1, tries: 3},
		"far too many":                 {clusters: 5000, room: 10, slow: -1, tries: 5},
		"one that is too much by far":  {clusters: 4, room: 100, slow: 2, left: []int{2}, tries: 9},
		"one among more than it finds": {clusters: 5000, room: 6000, slow: 4321, tries: 12},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now := clocktesting.NewFakeClock(time.Unix(0, 0))
			tries := 0
			late := unacceptableError{interpreter.Exceeded(errors.New("the script takes too long"))}
			s := &search{out: decided(slices.Repeat([]string{honest}, tc.clusters)), known: &memory{left: map[string]aggregate.LeftOut{}}, clock: now, until: now.Now().Add(longestSearch)}
			s.try = func(items []workv1alpha2.AggregatedStatusItem) error {
				tries++
				if items == nil {
					return unacceptableError{errors.New("attempt to get length of a nil value")}
				}
				for i := range items {
					if items[i].Status != nil && items[i].ClusterName == fmt.Sprintf("edge-%04d", tc.slow) {
						now.Step(time.Second)
						return late
					}
				}
				if len(items) > tc.room {
					now.Step(time.Second)
					return late
				}
				now.Step(time.Second * time.Duration(len(items)) / time.Duration(tc.room))
				return nil
			}
			s.search(late)
			var left []int
			for i := range s.out.Reported {
				if aggregate.IsLeftOut(&s.out.Reported[i]) {
					left = append(left, i)
				}
			}
			g.Expect(left).To(Equal(tc.left))
			g.Expect(tries).To(BeNumerically("<=", tc.tries))
			g.Expect(now.Since(time.Unix(0, 0))).To(BeNumerically("<=", longestSearch+time.Second))
		})
	}
}
