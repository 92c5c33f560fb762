package plan_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func outcome(ordinal int, name string, result plan.Result, message string) plan.Outcome {
	o := plan.Outcome{Ordinal: ordinal, Result: result, Message: message}
	o.Object.Kind, o.Object.Namespace, o.Object.Name = "ConfigMap", "shop", name
	return o
}

func TestCondition(t *testing.T) {
	t.Parallel()
	nameless := plan.Outcome{Ordinal: 2, Result: plan.Refused, Message: "the manifest has no kind"}
	cases := map[string]struct {
		outcomes    []plan.Outcome
		wantStatus  metav1.ConditionStatus
		wantReason  string
		wantMessage string
	}{
		"all applied": {
			[]plan.Outcome{outcome(0, "a", plan.Applied, "")},
			metav1.ConditionTrue, workv1alpha1.ReasonAppliedSuccessful, "Manifest has been successfully applied",
		},
		"nothing to apply": {
			nil, metav1.ConditionTrue, workv1alpha1.ReasonAppliedSuccessful, "The Work has no manifests: there is nothing to apply",
		},
		"those that failed, in the order of the Work": {
			[]plan.Outcome{nameless, outcome(1, "b", plan.Waiting, "not yet"), outcome(0, "a", plan.Refused, "no"), outcome(3, "c", plan.Applied, "")},
			metav1.ConditionFalse, workv1alpha1.ReasonAppliedFailed,
			"Failed to apply all manifests (1/4): ConfigMap shop/a: no; ConfigMap shop/b: not yet; manifest 2: the manifest has no kind",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := plan.Condition(tc.outcomes)
			g.Expect(got).To(Equal(metav1.Condition{
				Type: workv1alpha1.WorkApplied, Status: tc.wantStatus, Reason: tc.wantReason, Message: tc.wantMessage,
			}))
		})
	}
}

func TestConditionIsBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := plan.Condition([]plan.Outcome{outcome(0, "a", plan.Refused, strings.Repeat("é", 40000))})
	g.Expect(len(got.Message)).To(BeNumerically("<", 4096))
	g.Expect(utf8.ValidString(got.Message)).To(BeTrue())
}

func TestPendingAndSettled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	applied, waiting, refused := outcome(0, "a", plan.Applied, ""), outcome(1, "b", plan.Waiting, "w"), outcome(2, "c", plan.Refused, "r")
	g.Expect(plan.Settled(nil)).To(BeTrue())
	g.Expect(plan.Settled([]plan.Outcome{applied})).To(BeTrue())
	g.Expect(plan.Settled([]plan.Outcome{applied, waiting})).To(BeFalse())
	throttled := outcome(3, "d", plan.Throttled, plan.ThrottledMessage)
	g.Expect(plan.Settled([]plan.Outcome{applied, throttled})).To(BeTrue())
	g.Expect(plan.Pending([]plan.Outcome{applied, throttled})).To(BeFalse())
	g.Expect(plan.Condition([]plan.Outcome{applied, throttled})).To(And(
		HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring("keeps changing it"))))
	g.Expect(plan.Pending([]plan.Outcome{applied, refused})).To(BeFalse())
	g.Expect(plan.Pending([]plan.Outcome{refused, waiting})).To(BeTrue())
}

func TestNewsworthy(t *testing.T) {
	t.Parallel()
	applied, waiting := outcome(0, "a", plan.Applied, ""), outcome(1, "b", plan.Waiting, "w")
	refused, unanswered := outcome(2, "c", plan.Refused, "r"), outcome(3, "d", plan.Unanswered, "u")
	cases := map[string]struct {
		outcomes   []plan.Outcome
		late, told bool
		want       bool
	}{
		"what was applied is told at once":                       {[]plan.Outcome{applied}, false, true, true},
		"what was refused is told at once":                       {[]plan.Outcome{applied, refused}, false, true, true},
		"what may come by itself is not":                         {[]plan.Outcome{refused, waiting}, false, false, false},
		"but when it has not come":                               {[]plan.Outcome{applied, waiting}, true, true, true},
		"the silence of the member is told of what is new":       {[]plan.Outcome{unanswered}, true, false, true},
		"and takes nothing back of what was told":                {[]plan.Outcome{applied, unanswered}, true, true, false},
		"nor hides that another one is refused":                  {[]plan.Outcome{refused, unanswered}, true, true, true},
		"or waits":                                               {[]plan.Outcome{waiting, unanswered}, true, true, true},
		"at first it is not told of anything, as it may be over": {[]plan.Outcome{unanswered}, false, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(plan.ShouldReport(tc.outcomes, tc.late, tc.told)).To(Equal(tc.want))
			g.Expect(plan.Pending(tc.outcomes) && plan.Settled(tc.outcomes)).To(BeFalse())
		})
	}
}

func TestDispatching(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(plan.Dispatching(false)).To(Equal(metav1.Condition{
		Type: "Dispatching", Status: metav1.ConditionTrue, Reason: "Dispatching", Message: "Work is being dispatched to member clusters.",
	}))
	g.Expect(plan.Dispatching(true)).To(Equal(metav1.Condition{
		Type: "Dispatching", Status: metav1.ConditionFalse, Reason: "SuspendDispatching", Message: "Work dispatching is in a suspended state.",
	}))
}
