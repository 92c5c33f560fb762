package selector

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Conditions says whether all of the requirements are met, of which there must be some. A
// condition that is not there meets none.
func Conditions(requirements []policyv1alpha1.MatchCondition, conditions []metav1.Condition) bool {
	for _, r := range requirements {
		c := meta.FindStatusCondition(conditions, r.ConditionType)
		if c == nil || slices.Contains(r.StatusValues, c.Status) != (r.Operator == policyv1alpha1.MatchConditionIn) {
			return false
		}
	}
	return len(requirements) > 0
}

// TaintOrder compares policies by the order in which they act: the oldest first.
func TaintOrder(a, b *policyv1alpha1.ClusterTaintPolicy) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// TaintChange is what a ClusterTaintPolicy does to the clusters that it selects.
type TaintChange int

// All changes.
const (
	// KeepTaints leaves the taints as they are.
	KeepTaints TaintChange = iota
	// AddTaints adds those that are not there.
	AddTaints
	// RemoveTaints removes those that are there, whoever put them there.
	RemoveTaints
)

// TaintChangeOf returns what a policy does to a cluster with these conditions. If its conditions
// for adding and for removing hold at once, it removes.
func TaintChangeOf(spec *policyv1alpha1.ClusterTaintPolicySpec, conditions []metav1.Condition) TaintChange {
	switch {
	case Conditions(spec.RemoveOnConditions, conditions):
		return RemoveTaints
	case Conditions(spec.AddOnConditions, conditions):
		return AddTaints
	default:
		return KeepTaints
	}
}
