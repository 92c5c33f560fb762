package rebalance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// isPlaced says whether a binding belongs to a workload and has a placement; only then can the scheduler be asked for
// another one. The kind is compared because bindings of equally named kinds in two groups have the same name.
func isPlaced(b workv1alpha2.Binding, workload appsv1alpha1.ObjectReference) bool {
	spec := b.BindingSpec()
	of := schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind)
	return b.GetDeletionTimestamp().IsZero() && spec.Placement != nil &&
		of.GroupKind() == schema.FromAPIVersionAndKind(workload.APIVersion, workload.Kind).GroupKind() &&
		spec.Resource.Name == workload.Name && spec.Resource.Namespace == workload.Namespace
}

// askAt returns the rescheduleTriggeredAt to set on a binding; nil if it was already set since the WorkloadRebalancer
// was created.
//
// The time is that of the WorkloadRebalancer's creation, which shows others who asked. If the scheduler has decided
// since then, it would ignore that time: for a workload that is added later, or was scaled meanwhile, the time is now.
// Times in the API are whole seconds. A time in the future, whoever's clock it came from, does not count as set since
// the creation if the scheduler has already handled it.
func askAt(b workv1alpha2.Binding, created, now time.Time) *metav1.Time {
	created, now = created.Truncate(time.Second), now.Truncate(time.Second)
	last := b.BindingStatus().LastScheduledTime
	asked := b.BindingSpec().RescheduleTriggeredAt
	if asked != nil && !asked.Time.Before(created) && (!asked.After(created) || !answered(b, asked)) {
		// The same second may be the request of another WorkloadRebalancer, handled before this one was created.
		if asked.After(created) || last == nil || !last.Truncate(time.Second).Equal(created) {
			return nil
		}
	}
	if last == nil || last.Time.Before(created) {
		return &metav1.Time{Time: created}
	}
	if next := last.Time.Truncate(time.Second).Add(time.Second); next.After(now) {
		now = next
	}
	return &metav1.Time{Time: now}
}

// answered says whether the scheduler has handled a request whose time is later than its last decision.
func answered(b workv1alpha2.Binding, asked *metav1.Time) bool {
	return b.GetAnnotations()[contract.RescheduleAnsweredAnnotation] == asked.UTC().Format(time.RFC3339)
}
