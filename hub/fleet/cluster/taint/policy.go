package taint

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/selector"
)

// EffectiveConditions returns the conditions that taints go by: Ready counts as Unknown while the Cluster is settling.
func EffectiveConditions(conditions []metav1.Condition, settling bool) []metav1.Condition {
	if !settling || !meta.IsStatusConditionTrue(conditions, clusterv1alpha1.ClusterReady) {
		return conditions
	}
	out := slices.Clone(conditions)
	for i := range out {
		if out[i].Type == clusterv1alpha1.ClusterReady {
			out[i].Status, out[i].Reason = metav1.ConditionUnknown, clusterv1alpha1.ReasonClusterStatusUnknown
		}
	}
	return out
}

// ByPolicy returns the taints that a Cluster should have by the policies, given its present taints and conditions. A policy whose
// conditions for adding and removing both hold removes its taints. Taints are compared by key and effect; a taint that is there keeps its
// value, and stays when its policy is deleted.
func ByPolicy(c *clusterv1alpha1.Cluster, conditions []metav1.Condition, policies []selector.TaintPolicy, now time.Time) []corev1.Taint {
	out := slices.Clone(c.Spec.Taints)
	since := metav1.NewTime(now.Truncate(time.Second))
	for _, p := range policies {
		spec := &p.Policy.Spec
		switch p.Change(c, conditions) {
		case selector.RemoveTaints:
			for _, t := range spec.Taints {
				out = slices.DeleteFunc(out, func(have corev1.Taint) bool { return have.Key == t.Key && have.Effect == t.Effect })
			}
		case selector.AddTaints:
			for _, t := range spec.Taints {
				if !Has(out, t.Key, t.Effect) {
					out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, TimeAdded: &since})
				}
			}
		case selector.KeepTaints:
		}
	}
	return out
}

// Has says whether there is a taint with a key and an effect.
func Has(taints []corev1.Taint, key string, effect corev1.TaintEffect) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == key && t.Effect == effect })
}
