package evict

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// notAllowed makes the application leave edge-1 because its namespace may no longer use it.
func notAllowed() func(*Input) {
	return task(func(t *workv1alpha2.GracefulEvictionTask) {
		t.Producer, t.Reason = workv1alpha2.ProducerNamespaceClusters, workv1alpha2.EvictionNotAllowed
	})
}

// TestAClusterThatMayNotBeUsedIsLeftInTime covers what a tenant can do to stay: fit nowhere else, be unhealthy
// elsewhere, and make the scheduler decide again and again.
func TestAClusterThatMayNotBeUsedIsLeftInTime(t *testing.T) {
	t.Parallel()
	grace := int(DefaultGrace.Seconds())
	elsewhere := targets(target("edge-2", 4))
	decided := func(at int) func(*Input) {
		return func(in *Input) { in.Status.LastScheduledTime = &metav1.Time{Time: second(at)} }
	}
	nowhere := func(in *Input) {
		in.Spec.Clusters = nil
		in.Status.Conditions = []metav1.Condition{{
			Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionFalse, Reason: workv1alpha2.ReasonNoClusterFit, ObservedGeneration: in.Generation,
		}}
	}
	tests := map[string]struct {
		in      Input
		wantHow string
	}{
		"it goes when the others are healthy":       {given(elsewhere, notAllowed(), report("edge-2", workv1alpha1.Healthy, 4), now(5)), workv1alpha2.EvictionReplaced},
		"it has time until they are":                {given(elsewhere, notAllowed(), report("edge-2", workv1alpha1.Unhealthy, 0), now(grace-1)), ""},
		"it goes when they never are":               {given(elsewhere, notAllowed(), report("edge-2", workv1alpha1.Unhealthy, 0), now(grace)), workv1alpha2.EvictionTimedOut},
		"it goes though it was decided again":       {given(elsewhere, notAllowed(), report("edge-2", workv1alpha1.Unhealthy, 0), decided(grace-1), now(grace)), workv1alpha2.EvictionTimedOut},
		"it has time though it fits nowhere":        {given(nowhere, notAllowed(), now(grace-1)), ""},
		"it goes though it fits nowhere":            {given(nowhere, notAllowed(), now(grace)), workv1alpha2.EvictionTimedOut},
		"it stays as long as the cluster is silent": {given(elsewhere, notAllowed(), ready("edge-1", metav1.ConditionUnknown), now(grace)), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tt.in)
			if tt.wantHow == "" {
				g.Expect(d.Ended).To(BeEmpty())
				g.Expect(d.Condition.Message).To(HavePrefix("Leaving edge-1."))
				return
			}
			g.Expect(d.Ended).To(Equal([]Ended{{Cluster: "edge-1", How: tt.wantHow}}))
		})
	}
}
