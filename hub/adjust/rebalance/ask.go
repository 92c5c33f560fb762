package rebalance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// isPlaced says whether a binding is that of a workload and has a placement: only then the
// scheduler can be asked for another one. Bindings of kinds that are called the same in
// two groups have the same name.
func isPlaced(b workv1alpha2.Binding, workload appsv1alpha1.ObjectReference) bool {
	spec := b.BindingSpec()
	of := schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind)
	return b.GetDeletionTimestamp().IsZero() && spec.Placement != nil &&
		of.GroupKind() == schema.FromAPIVersionAndKind(workload.APIVersion, workload.Kind).GroupKind() &&
		spec.Resource.Name == workload.Name && spec.Resource.Namespace == workload.Namespace
}

// askAt returns the time to ask a binding for a placement from scratch at, nil if it was
// asked since a WorkloadRebalancer was created.
//
// That is the time at which the WorkloadRebalancer was created, which tells others whose
// wish it is. If the scheduler has decided since, it would not hear a wish of that time: a
// workload that is named later, or one that was scaled meanwhile, is asked for as of now.
// Times in the API are whole seconds. A wish of a time yet to come, by whose clock it may be, is none since the creation if the
// scheduler has done it already.
func askAt(b workv1alpha2.Binding, created, now time.Time) *metav1.Time {
	created, now = created.Truncate(time.Second), now.Truncate(time.Second)
	last := b.BindingStatus().LastScheduledTime
	asked := b.BindingSpec().RescheduleTriggeredAt
	if asked != nil && !asked.Time.Before(created) && (!asked.After(created) || !answered(b, asked)) {
		// A wish of the same second may be that of another WorkloadRebalancer, and heard
		// before this one was created.
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

// answered says whether the scheduler has done a wish that is later than its last decision.
func answered(b workv1alpha2.Binding, asked *metav1.Time) bool {
	return b.GetAnnotations()[contract.RescheduleAnsweredAnnotation] == asked.UTC().Format(time.RFC3339)
}
