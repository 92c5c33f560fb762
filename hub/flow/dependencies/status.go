package dependencies

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// setLeftOut records on the binding of a workload which dependencies are not propagated, or that there are none, and returns the message
// for an event.
func setLeftOut(b kube.Binding, leftOut []plan.Object) string {
	conditions := &b.BindingStatus().Conditions
	if len(leftOut) == 0 {
		meta.RemoveStatusCondition(conditions, workv1alpha2.BindingDependenciesLeftOut)
		return ""
	}
	names := make([]string, len(leftOut))
	for i, o := range leftOut {
		names[i] = fmt.Sprintf("%s %s", o.Kind.Kind, strings.TrimPrefix(o.Meta.Namespace+"/"+o.Meta.Name, "/"))
	}
	message := fmt.Sprintf("%s: so many workloads need this, or in so many different clusters, that its binding has no room for the clusters of this workload. It "+
		"is not sent to clusters that are new for this workload. Give it its own policy that sends it to all clusters that need it, or let fewer workloads share it.",
		prose.Names(names, maxObjectsNamed))
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: workv1alpha2.BindingDependenciesLeftOut, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonBindingTooLarge,
		Message: message, ObservedGeneration: b.GetGeneration(),
	})
	return message
}

// setConflict records on a binding in which options the policies of the workloads that need its object differ, or that they agree. It
// returns the message for an event if that changed.
func setConflict(b kube.Binding, conflicts []string) string {
	conditions := &b.BindingStatus().Conditions
	if len(conflicts) == 0 {
		meta.RemoveStatusCondition(conditions, workv1alpha2.BindingDependencyPolicyConflict)
		return ""
	}
	message := strings.Join(conflicts, ", ") + ". The policies of the workloads that need this object differ, and conflictResolution: Overwrite and preserveResourcesOnDeletion: true win. " +
		"Make the policies agree, or select the object in its own policy."
	if before := meta.FindStatusCondition(*conditions, workv1alpha2.BindingDependencyPolicyConflict); before != nil && before.Message == message {
		return ""
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: workv1alpha2.BindingDependencyPolicyConflict, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonOptionsDiffer,
		Message: message, ObservedGeneration: b.GetGeneration(),
	})
	return message
}
