package execution

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestTheSilenceAboutAManifestHidesNoOther checks that the report combines a fresh refusal of one manifest with the
// last known outcome of one about which the member does not answer.
func TestTheSilenceAboutAManifestHidesNoOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, name := newMemory(), types.NamespacedName{Namespace: ownWorks, Name: "several"}
	m.Begin(name, 1, nil)
	outcomes := func(first, second plan.Result) []plan.Outcome {
		return []plan.Outcome{{Ordinal: 1, Result: second, Message: "second"}, {Ordinal: 0, Result: first, Message: "first"}}
	}
	g.Expect(m.Known(name, outcomes(plan.Applied, plan.Unanswered), nothing)).To(Equal(outcomes(plan.Applied, plan.Unanswered)), "nothing was known before")
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Refused), nothing)).To(Equal(outcomes(plan.Applied, plan.Refused)))
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Unanswered), nothing)).To(Equal(outcomes(plan.Applied, plan.Refused)))
	m.Begin(name, 2, nil)
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Applied), nothing)).To(Equal(outcomes(plan.Unanswered, plan.Applied)), "that was of another generation")
}

// TestTheSilenceAboutAManifestTakesBackNothingThatWasTold checks the same after a restart of the agent, which has the
// hub's report only.
func TestTheSilenceAboutAManifestTakesBackNothingThatWasTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, name := newMemory(), types.NamespacedName{Namespace: ownWorks, Name: "several"}
	m.Begin(name, 1, nil)
	outcomes := func(results ...plan.Result) []plan.Outcome {
		var out []plan.Outcome
		for i, result := range results {
			out = append(out, plan.Outcome{Ordinal: i, Result: result, Message: fmt.Sprint("now ", i)})
		}
		return out
	}
	asked := 0
	told := func() map[int]plan.Outcome {
		asked++
		return map[int]plan.Outcome{0: {Ordinal: 0, Result: plan.Applied}, 1: {Ordinal: 1, Result: plan.Refused, Message: "told"}}
	}
	want := outcomes(plan.Applied, plan.Refused, plan.Unanswered)
	want[0].Message, want[1].Message = "", "told"
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Unanswered, plan.Unanswered), told)).To(Equal(want))
	g.Expect(asked).To(Equal(1))
	g.Expect(m.Known(name, outcomes(plan.Refused, plan.Applied, plan.Waiting), told)).To(Equal(outcomes(plan.Refused, plan.Applied, plan.Waiting)))
	g.Expect(m.Known(name, outcomes(plan.Unanswered, plan.Unanswered, plan.Unanswered), told)).To(
		Equal(outcomes(plan.Refused, plan.Applied, plan.Waiting)), "what the member said since counts")
	g.Expect(asked).To(Equal(1))
}

func nothing() map[int]plan.Outcome { return nil }

func TestMayTell(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub, journal := []plan.Manifest{{}, {Ordinal: 1}}, []plan.Manifest{{Kept: true}, {Ordinal: 1, Kept: true}}
	silentOfOne := []plan.Outcome{{Result: plan.Unanswered}, {Ordinal: 1, Result: plan.Refused}}
	g.Expect(mayTell(hub, silentOfOne)).To(BeTrue())
	g.Expect(mayTell(journal, silentOfOne)).To(BeFalse(), "what the hub was told of it is not known")
	g.Expect(mayTell(journal, silentOfOne[1:])).To(BeTrue())
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	c := plan.Condition([]plan.Outcome{{}, {Ordinal: 1}})
	c.ObservedGeneration = 2
	work.Status.Conditions = []metav1.Condition{c}
	g.Expect(told(work, hub)).To(HaveLen(2))
	g.Expect(told(work, journal)).To(BeEmpty())
	work.Generation = 3
	g.Expect(told(work, hub)).To(BeEmpty(), "that was of another generation")
}
