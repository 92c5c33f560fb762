package dependencies

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
)

// setConflict has a binding say in which options the policies of those differ that need its
// object, or that they do not, and returns what is to be told if that is news.
func setConflict(b kube.Binding, conflicts []string) string {
	conditions := &b.BindingStatus().Conditions
	if len(conflicts) == 0 {
		meta.RemoveStatusCondition(conditions, workv1alpha2.BindingDependencyPolicyConflict)
		return ""
	}
	message := strings.Join(conflicts, ", ") + ". The policies of the workloads that need this object differ; Overwrite, and to preserve, win. " +
		"Make them agree, or select the object in a policy of its own."
	if before := meta.FindStatusCondition(*conditions, workv1alpha2.BindingDependencyPolicyConflict); before != nil && before.Message == message {
		return ""
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: workv1alpha2.BindingDependencyPolicyConflict, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonOptionsDiffer,
		Message: message, ObservedGeneration: b.GetGeneration(),
	})
	return message
}
