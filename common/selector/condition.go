package selector

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Conditions returns whether all of the requirements are met; there must be at least one. A missing condition meets
// none.
func Conditions(requirements []policyv1alpha1.MatchCondition, conditions []metav1.Condition) bool {
	for _, r := range requirements {
		c := meta.FindStatusCondition(conditions, r.ConditionType)
		if c == nil || slices.Contains(r.StatusValues, c.Status) != (r.Operator == policyv1alpha1.MatchConditionIn) {
			return false
		}
	}
	return len(requirements) > 0
}
