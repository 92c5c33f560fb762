package execution

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
)

// The member falls silent about one manifest while it refuses another: what is told is what is known of both.
func TestTheSilenceAboutAManifestHidesNoOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, name := newMemory(), types.NamespacedName{Namespace: ownWorks, Name: "several"}
	m.Begin(name, 1, nil)
	outcomes := func(first, second plan.Result) []plan.Outcome {
		return []plan.Outcome{{Ordinal: 1, Result: second, Message: "second"}, {Ordinal: 0, Result: first, Message: "first"}}
	}
	g.Expect(m.Known(name, outcomes(plan.Applied, plan.Unanswered))).To(Equal(outcomes(plan.Applied, plan.Unanswered)), "nothing was known before")
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Refused))).To(Equal(outcomes(plan.Applied, plan.Refused)))
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Unanswered))).To(Equal(outcomes(plan.Applied, plan.Refused)))
	m.Begin(name, 2, nil)
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Applied))).To(Equal(outcomes(plan.Unanswered, plan.Applied)), "that was of another generation")
}
