package disruption

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

// TestFromWhenOnSilenceCounts covers a cluster that fell silent at noon, and a hub that started to watch it some time
// later.
func TestFromWhenOnSilenceCounts(t *testing.T) {
	t.Parallel()
	const unknown, disconnected, stopped = metav1.ConditionUnknown, clusterv1alpha1.ReasonAgentDisconnected, clusterv1alpha1.ReasonClusterStatusUnknown
	after := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	tests := map[string]struct {
		status  metav1.ConditionStatus
		reason  string
		began   time.Time
		heardBy time.Time
		want    time.Time
	}{
		"a cluster that is heard from":                       {metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady, after(-60), time.Time{}, time.Time{}},
		"one that says that it is not ready":                 {metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReady, after(5), time.Time{}, time.Time{}},
		"a lease that was not renewed":                       {unknown, stopped, after(-60), time.Time{}, noon},
		"a line that was lost counts as late as a lease":     {unknown, disconnected, after(-60), time.Time{}, after(40)},
		"whoever has followed for ever":                      {unknown, disconnected, time.Time{}, time.Time{}, after(40)},
		"a hub that starts right after it has lost a line":   {unknown, disconnected, after(1), time.Time{}, after(61)},
		"one that starts an hour later":                      {unknown, disconnected, after(3600), time.Time{}, after(3660)},
		"one that starts after a lease had not been renewed": {unknown, stopped, after(10), time.Time{}, noon},
		"agents still come back":                             {unknown, disconnected, after(1), after(137), after(137)},
		"no agent came back for a while":                     {unknown, disconnected, after(1), after(31), after(61)},
		"a line that was lost after the start":               {unknown, disconnected, after(-1), after(137), after(40)},
		"a line that was lost as soon as a hub had started":  {unknown, disconnected, noon, time.Time{}, after(40)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := builder.MakeCluster("edge-1").Obj()
			c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: tc.status, Reason: tc.reason, LastTransitionTime: metav1.NewTime(noon)}}
			NewWithT(t).Expect(ActFrom(c, DefaultSilence, tc.began, tc.heardBy)).To(Equal(tc.want))
		})
	}
}
