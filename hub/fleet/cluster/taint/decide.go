package taint

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// Decide returns the taints that a Cluster should have, given its present ones and its Ready condition; the condition is nil if there is none:
//
//   - no condition: not-ready is added;
//   - False: not-ready is added, unreachable removed;
//   - Unknown: unreachable is added, not-ready removed;
//   - True: both are removed.
//
// A NoExecute taint without timeAdded gets the present time, from which workloads count how long they tolerate it.
func Decide(taints []corev1.Taint, ready *metav1.Condition, now time.Time) []corev1.Taint {
	out := slices.Clone(taints)
	since := metav1.NewTime(now.Truncate(time.Second)) // as precise as it is on the wire
	for i := range out {
		if out[i].Effect == corev1.TaintEffectNoExecute && out[i].TimeAdded == nil {
			out[i].TimeAdded = &since
		}
	}
	add := func(key string) {
		if !slices.ContainsFunc(out, isTaint(key)) {
			out = append(out, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &since})
		}
	}
	remove := func(key string) { out = slices.DeleteFunc(out, isTaint(key)) }

	switch {
	case ready == nil:
		add(contract.TaintClusterNotReady)
	case ready.Status == metav1.ConditionTrue:
		remove(contract.TaintClusterNotReady)
		remove(contract.TaintClusterUnreachable)
	case ready.Status == metav1.ConditionFalse:
		remove(contract.TaintClusterUnreachable)
		add(contract.TaintClusterNotReady)
	default:
		remove(contract.TaintClusterNotReady)
		add(contract.TaintClusterUnreachable)
	}
	return out
}

// isTaint matches a NoSchedule taint with a key, whatever its value.
func isTaint(key string) func(corev1.Taint) bool {
	return func(t corev1.Taint) bool { return t.Key == key && t.Effect == corev1.TaintEffectNoSchedule }
}

// Sentence lists the taints of a Cluster for an event.
func Sentence(taints []corev1.Taint) string {
	if len(taints) == 0 {
		return "cluster now does not have taints"
	}
	parts := make([]string, 0, len(taints))
	for _, t := range taints {
		part := "{Key:" + t.Key
		if t.Value != "" {
			part += ",Value:" + t.Value
		}
		parts = append(parts, part+",Effect:"+string(t.Effect)+"}")
	}
	return "cluster now has taints([" + strings.Join(parts, ",") + "])"
}
