package plan_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/execution/plan"
)

func TestAnEndlessFightSlowsDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, other := plan.DigestOf([]byte("one")), plan.DigestOf([]byte("other"))
	var pace plan.Pace
	now, sent := noon, 0
	for now.Before(noon.Add(time.Hour)) {
		wait := pace.Due(one, now)
		g.Expect(wait).To(And(BeNumerically(">=", 0), BeNumerically("<=", 30*time.Second)))
		if sent < 5 {
			g.Expect(wait).To(BeZero(), "the first times, at once")
		}
		now = now.Add(wait)
		g.Expect(pace.Due(one, now)).To(BeZero(), "what was waited for is due")
		pace = pace.Sent(one, now)
		sent++
		now = now.Add(time.Millisecond) // and it is changed again
	}
	g.Expect(sent).To(And(BeNumerically(">", 120), BeNumerically("<", 150)))

	g.Expect(pace.Due(one, now)).NotTo(BeZero())
	g.Expect(pace.Due(other, now)).To(BeZero(), "a new manifest does not wait")
	now = now.Add(2 * time.Minute)
	g.Expect(pace.Due(one, now)).To(BeZero())
	pace = pace.Sent(one, now)
	g.Expect(pace.Due(one, now)).To(BeZero(), "after a time of calm it begins anew")
}
