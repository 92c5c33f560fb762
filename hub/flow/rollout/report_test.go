package rollout

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/flow/rollout/judge"
)

func TestAClaimThatNobodyMountsSaysNothingOfThoseThatNeedIt(t *testing.T) {
	t.Parallel()
	claim := func(phase string) workv1alpha1.ManifestStatus {
		out := workv1alpha1.ManifestStatus{Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "PersistentVolumeClaim"}, Health: workv1alpha1.Unhealthy}
		if phase != "" {
			out.Status = &runtime.RawExtension{Raw: []byte(`{"phase":"` + phase + `"}`)}
		}
		return out
	}
	of := func(health workv1alpha1.ResourceHealth) workv1alpha1.ManifestStatus {
		out := claim("Pending")
		out.Identifier.Kind, out.Health = "Other", health
		return out
	}
	for name, c := range map[string]struct {
		manifests []workv1alpha1.ManifestStatus
		want      judge.Health
	}{
		"nothing is seen yet":         {nil, judge.Unknown},
		"pending":                     {[]workv1alpha1.ManifestStatus{claim("Pending")}, judge.Healthy},
		"not reported":                {[]workv1alpha1.ManifestStatus{claim("")}, judge.Unhealthy},
		"lost":                        {[]workv1alpha1.ManifestStatus{claim("Lost")}, judge.Unhealthy},
		"beside what is well":         {[]workv1alpha1.ManifestStatus{claim("Pending"), of(workv1alpha1.Healthy)}, judge.Healthy},
		"beside what is not":          {[]workv1alpha1.ManifestStatus{claim("Pending"), of(workv1alpha1.Unhealthy)}, judge.Unhealthy},
		"beside what is not seen yet": {[]workv1alpha1.ManifestStatus{claim("Pending"), of(workv1alpha1.Unknown)}, judge.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := &workv1alpha1.Work{}
			work.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue}}
			work.Status.ManifestStatuses = c.manifests
			NewWithT(t).Expect(partReportOf(work).Health).To(Equal(c.want))
		})
	}
}

func TestReportOfAWork(t *testing.T) {
	t.Parallel()
	const no = "Failed to apply all manifests (0/1): Deployment \"web\": the member refuses it: "
	report := func(generation, observed int64, applied metav1.ConditionStatus, message string, health ...workv1alpha1.ResourceHealth) *workv1alpha1.Work {
		w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
		w.Status.ObservedGeneration = observed
		w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: applied, Message: message, ObservedGeneration: observed}}
		for _, h := range health {
			w.Status.ManifestStatuses = append(w.Status.ManifestStatuses, workv1alpha1.ManifestStatus{Health: h})
		}
		return w
	}
	behind := report(3, 3, metav1.ConditionTrue, "", workv1alpha1.Healthy)
	behind.Status.Conditions[0].ObservedGeneration = 2
	for name, c := range map[string]struct {
		work *workv1alpha1.Work
		want judge.Report
	}{
		"nothing yet":                   {&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, judge.Report{}},
		"well":                          {report(3, 3, metav1.ConditionTrue, "", workv1alpha1.Healthy), judge.Report{Current: true, Applied: true, Health: judge.Healthy}},
		"well, before it was sent this": {report(3, 2, metav1.ConditionTrue, "", workv1alpha1.Healthy), judge.Report{}},
		"a status of now, and a condition of before": {behind, judge.Report{}},
		"applied, and not seen yet":                  {report(3, 3, metav1.ConditionTrue, ""), judge.Report{Current: true, Applied: true}},
		"applied, and not known yet":                 {report(3, 3, metav1.ConditionTrue, "", workv1alpha1.Healthy, workv1alpha1.Unknown), judge.Report{Current: true, Applied: true}},
		"the worst counts":                           {report(3, 3, metav1.ConditionTrue, "", workv1alpha1.Unknown, workv1alpha1.Unhealthy), judge.Report{Current: true, Applied: true, Health: judge.Unhealthy, Message: "it is applied, but not healthy"}},
		"refused as invalid": {
			report(3, 3, metav1.ConditionFalse, no+`Deployment.apps "web" is invalid: spec.selector: field is immutable`),
			judge.Report{Current: true, Refused: true, Message: no + `Deployment.apps "web" is invalid: spec.selector: field is immutable`},
		},
		"refused as forbidden": {
			report(3, 3, metav1.ConditionFalse, no+`pods "web" is forbidden: exceeded quota`),
			judge.Report{Current: true, Refused: true, Message: no + `pods "web" is forbidden: exceeded quota`},
		},
		"refused by a webhook": {
			report(3, 3, metav1.ConditionFalse, no+`admission webhook "x" denied the request: no`),
			judge.Report{Current: true, Refused: true, Message: no + `admission webhook "x" denied the request: no`},
		},
		"what may go by itself is no refusal": {
			report(3, 3, metav1.ConditionFalse, no+"Internal error occurred: failed calling webhook"),
			judge.Report{Current: true, Message: no + "Internal error occurred: failed calling webhook"},
		},
		"nor is what waits for a namespace": {
			report(3, 3, metav1.ConditionFalse, `Failed to apply all manifests (0/1): the namespace "a" does not exist in the member`),
			judge.Report{Current: true, Message: `Failed to apply all manifests (0/1): the namespace "a" does not exist in the member`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(reportOf(c.work)).To(Equal(c.want))
		})
	}
}
