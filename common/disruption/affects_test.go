package disruption

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

func TestOnlySilenceAndItsHistoryAffectTheVerdict(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*clusterv1alpha1.Cluster)
		want   bool
	}{
		"nothing":   {func(*clusterv1alpha1.Cluster) {}, false},
		"a message": {func(c *clusterv1alpha1.Cluster) { c.Status.Conditions[0].Message = "other" }, false},
		"another condition": {func(c *clusterv1alpha1.Cluster) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: "Other"})
		}, false},
		"its room":                {func(c *clusterv1alpha1.Cluster) { c.Status.KubernetesVersion = "v1.36.0" }, false},
		"silence":                 {func(c *clusterv1alpha1.Cluster) { c.Status.Conditions[0].Status = metav1.ConditionUnknown }, true},
		"whether it ever spoke":   {func(c *clusterv1alpha1.Cluster) { c.Status.Conditions[0].Reason = "Other" }, true},
		"since when it is silent": {func(c *clusterv1alpha1.Cluster) { c.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon) }, true},
		"what was said before": {func(c *clusterv1alpha1.Cluster) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterEvictionSuspended})
		}, true},
		"no report any more":      {func(c *clusterv1alpha1.Cluster) { c.Status.Conditions = nil }, true},
		"its end":                 {func(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = new(metav1.NewTime(noon)) }, true},
		"another one of the name": {func(c *clusterv1alpha1.Cluster) { c.UID = "other" }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := builder.MakeCluster("edge-1").Obj()
			before.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}}
			after := before.DeepCopy()
			tc.change(after)
			NewWithT(t).Expect(AffectsVerdict(before, after)).To(Equal(tc.want))
		})
	}
}
