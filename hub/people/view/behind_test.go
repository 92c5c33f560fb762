package view

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestBehind(t *testing.T) {
	t.Parallel()
	work := func(hash string, generation, observed int64, status metav1.ConditionStatus) *workv1alpha1.Work {
		w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Generation: generation, Annotations: map[string]string{contract.ManifestHashAnnotation: hash}}}
		if status != "" {
			w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: status, ObservedGeneration: observed}}
		}
		return w
	}
	cases := map[string]struct {
		row  Rendered
		want string
	}{
		"it has what it should":          {Rendered{Desired: work("a", 0, 0, ""), Sent: work("a", 2, 2, "True")}, ""},
		"its agent names no generation":  {Rendered{Desired: work("a", 0, 0, ""), Sent: work("a", 2, 0, "True")}, ""},
		"it was sent another version":    {Rendered{Desired: work("b", 0, 0, ""), Sent: work("a", 2, 2, "True")}, "edge-1 was not sent the latest change yet."},
		"it reported on another version": {Rendered{Desired: work("a", 0, 0, ""), Sent: work("a", 2, 1, "True")}, "edge-1 has not reported on the latest change yet."},
		"it refuses":                     {Rendered{Desired: work("a", 0, 0, ""), Sent: work("a", 2, 2, "False")}, "edge-1 has not reported on the latest change yet."},
		"it has not reported":            {Rendered{Desired: work("a", 0, 0, ""), Sent: work("a", 2, 0, "")}, "edge-1 has not reported on the latest change yet."},
		"it was sent nothing":            {Rendered{Desired: work("a", 0, 0, "")}, "edge-1 has not been sent the object yet."},
		"it is to have it no more":       {Rendered{Sent: work("a", 2, 2, "True")}, "edge-1 still has the object, but should not."},
		"a policy is in the way":         {Rendered{Failed: "no such path", Sent: work("a", 2, 2, "True")}, "The object cannot be rendered for edge-1: no such path."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.row.Cluster = "edge-1"
			NewWithT(t).Expect(behindSentence(tc.row)).To(Equal(tc.want))
		})
	}
}
