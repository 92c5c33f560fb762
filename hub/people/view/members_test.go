package view

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// TestUnwatchedConditionsAreOfTheLastReport is for agents that went back to a version which leaves the condition where it is.
func TestUnwatchedConditionsAreOfTheLastReport(t *testing.T) {
	t.Parallel()
	condition := func(kind string, status metav1.ConditionStatus, observed int64) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, ObservedGeneration: observed, Message: "said of " + kind}
	}
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		want       string
	}{
		"said with the last report":  {[]metav1.Condition{condition(workv1alpha1.WorkApplied, "True", 2), condition(workv1alpha1.WorkNotWatched, "True", 2)}, "said of " + workv1alpha1.WorkNotWatched},
		"said with one of before":    {[]metav1.Condition{condition(workv1alpha1.WorkApplied, "True", 3), condition(workv1alpha1.WorkNotWatched, "True", 2)}, ""},
		"it is watched":              {[]metav1.Condition{condition(workv1alpha1.WorkApplied, "True", 2), condition(workv1alpha1.WorkNotWatched, "False", 2)}, ""},
		"what is not applied counts": {[]metav1.Condition{condition(workv1alpha1.WorkApplied, "False", 2), condition(workv1alpha1.WorkNotWatched, "True", 2)}, "said of " + workv1alpha1.WorkApplied},
		"nothing else was reported":  {[]metav1.Condition{condition(workv1alpha1.WorkNotWatched, "True", 2)}, "the agent has not reported on it yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := &workv1alpha1.Work{}
			work.Status.Conditions = tc.conditions
			NewWithT(t).Expect(member(&clusterv1alpha1.Cluster{}, work, workv1alpha2.AggregatedStatusItem{}).Message).To(Equal(tc.want))
		})
	}
}
