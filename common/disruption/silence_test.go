package disruption

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/test/builder"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestSilentSince(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status metav1.ConditionStatus
		reason string
		want   bool
	}{
		"a cluster that is heard from":             {status: metav1.ConditionTrue, reason: "ClusterReady"},
		"one that is not":                          {status: metav1.ConditionUnknown, reason: "ClusterStatusUnknown", want: true},
		"one whose agent does not reach the API":   {status: metav1.ConditionFalse, reason: "ClusterNotReachable", want: true},
		"one that says that it is not ready":       {status: metav1.ConditionFalse, reason: "ClusterNotReady"},
		"one of which nothing was ever heard also": {status: metav1.ConditionUnknown, reason: "ClusterStatusNeverUpdated", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := builder.MakeCluster("edge-1").Obj()
			c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: tc.status, Reason: tc.reason, LastTransitionTime: metav1.NewTime(noon)}}
			NewWithT(t).Expect(SilentSince(c).Equal(noon)).To(Equal(tc.want))
		})
	}
	NewWithT(t).Expect(SilentSince(builder.MakeCluster("edge-1").Obj()).IsZero()).To(BeTrue(), "a new one")
}
