package scheduler

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/flow/scheduler/decide"
)

func TestABindingThatWaitsForRoomIsRechecked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(recheck(decide.Decision{Outcome: decide.Scheduled}, 0)).To(BeZero(), "it is where it should be")
	g.Expect(recheck(decide.Decision{Outcome: decide.Unschedulable}, 0)).To(Equal(retryAfter))
	g.Expect(recheck(decide.Decision{Outcome: decide.Keep, NotPreferred: true}, 0)).To(Equal(retryAfter))
	g.Expect(recheck(decide.Decision{Outcome: decide.Keep, NotPreferred: true, FailbackReason: "There is room."}, time.Second)).To(Equal(time.Second))
}
