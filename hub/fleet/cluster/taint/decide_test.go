package taint

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 500, time.UTC)
	since := metav1.NewTime(now.Truncate(time.Second))
	earlier := metav1.NewTime(now.Add(-time.Hour))

	notReady := corev1.Taint{Key: contract.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &since}
	unreachable := corev1.Taint{Key: contract.TaintClusterUnreachable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &since}
	old := func(t corev1.Taint) corev1.Taint { t.TimeAdded = &earlier; return t }
	cordon := corev1.Taint{Key: contract.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	evict := corev1.Taint{Key: contract.TaintClusterNotReady, Value: "x", Effect: corev1.TaintEffectNoExecute}
	evictSince := func(at metav1.Time) corev1.Taint { t := evict; t.TimeAdded = &at; return t }

	tests := map[string]struct {
		taints []corev1.Taint
		ready  metav1.ConditionStatus
		want   []corev1.Taint
	}{
		"a new cluster is not ready": {want: []corev1.Taint{notReady}},
		"without a report nothing is removed": {
			taints: []corev1.Taint{old(unreachable)}, want: []corev1.Taint{old(unreachable), notReady},
		},
		"a ready cluster has none of ours": {
			taints: []corev1.Taint{old(notReady), cordon, old(unreachable)}, ready: metav1.ConditionTrue, want: []corev1.Taint{cordon},
		},
		"a cluster that is not ready": {
			taints: []corev1.Taint{old(unreachable)}, ready: metav1.ConditionFalse, want: []corev1.Taint{notReady},
		},
		"a cluster that is silent": {
			taints: []corev1.Taint{old(notReady)}, ready: metav1.ConditionUnknown, want: []corev1.Taint{unreachable},
		},
		"a taint that is there keeps its time": {
			taints: []corev1.Taint{old(notReady)}, ready: metav1.ConditionFalse, want: []corev1.Taint{old(notReady)},
		},
		"a taint that evicts is told since when": {
			taints: []corev1.Taint{evict}, ready: metav1.ConditionTrue, want: []corev1.Taint{evictSince(since)},
		},
		"a taint that evicts keeps its time": {
			taints: []corev1.Taint{evictSince(earlier)}, ready: metav1.ConditionTrue, want: []corev1.Taint{evictSince(earlier)},
		},
		"a taint of our key that evicts is not ours": {
			taints: []corev1.Taint{evictSince(earlier)}, ready: metav1.ConditionFalse, want: []corev1.Taint{evictSince(earlier), notReady},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var ready *metav1.Condition
			if tc.ready != "" {
				ready = &metav1.Condition{Status: tc.ready}
			}
			before := append([]corev1.Taint(nil), tc.taints...)
			got := Decide(tc.taints, ready, now)
			g.Expect(got).To(Equal(tc.want))
			g.Expect(tc.taints).To(Equal(before), "what is given stays as it is")
			g.Expect(Decide(got, ready, now.Add(time.Hour))).To(Equal(got), "deciding again changes nothing")
		})
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Sentence(nil)).To(Equal("cluster now does not have taints"))
	g.Expect(Sentence([]corev1.Taint{
		{Key: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "b", Value: "c", Effect: corev1.TaintEffectNoExecute},
	})).To(Equal("cluster now has taints([{Key:a,Effect:NoSchedule},{Key:b,Value:c,Effect:NoExecute}])"))
}
