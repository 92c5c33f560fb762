package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/quota"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// World is everything outside a binding that a decision on it depends on. The scheduler uses it, and so do explanations and what-if
// questions.
type World struct {
	Clusters []*clusterv1alpha1.Cluster
	// Assumed and APIPending are as in Input.
	Assumed    fit.Reservations
	APIPending bindings.Clusters
	// Namespace is the binding's; nil for a binding that has none.
	Namespace metav1.Object
	// Quotas are the quotas of the namespace.
	Quotas []policyv1alpha1.FederatedResourceQuota
	// Used is the usage of the bindings of the namespace; if it is nil, it is summed up from Others.
	Used *quota.Account
	// Others are the bindings of the namespace, with or without the binding itself. With Used, those of its affinity groups suffice. They
	// may be empty if NeedsOthers returns false.
	Others []workv1alpha2.Binding
	// Latest returns the last decision on a binding, which the cached object may not show yet: its targets and admitted requests. If it is
	// nil, they are read from the binding.
	Latest func(workv1alpha2.Binding) (targets []workv1alpha2.TargetCluster, admitted string)
	// Now is the current time.
	Now time.Time
}

// NeedsOthers returns whether the decision on a binding depends on other bindings of its namespace.
func NeedsOthers(b workv1alpha2.Binding, quotas []policyv1alpha1.FederatedResourceQuota) bool {
	return b.BindingSpec().WorkloadAffinityGroups != nil || len(quotas) > 0
}

// InputOf returns the input of the decision on a binding. Its spec is a shallow copy of the binding's.
func InputOf(b workv1alpha2.Binding, w World) Input {
	spec, status, annotations := b.BindingSpec(), b.BindingStatus(), b.GetAnnotations()
	past := evictions.Of(b)
	in := Input{
		Spec:             new(*spec),
		AppliedPlacement: annotations[contract.AppliedPlacementAnnotation],
		ObservedAffinity: status.SchedulerObservedAffinityName,
		LastScheduled:    status.LastScheduledTime,
		Pending:          annotations[contract.ReschedulePendingAnnotation],
		Answered:         annotations[contract.RescheduleAnsweredAnnotation],
		Clusters:         w.Clusters,
		Assumed:          w.Assumed,
		APIPending:       w.APIPending,
		Past:             past,
		FailedIn:         evictions.FailedIn(past, spec.Resource.ResourceVersion, w.Now),
	}
	if w.Namespace != nil {
		in.Allowance = selector.AllowanceOf(w.Namespace)
	}
	in.ReturnToPreferred, in.StayInOverflow = failbackPreference(annotations)
	_, in.AdmittedRequests = w.latest(b)
	in.Peers = fit.PeersOf(b, w.Others, func(other workv1alpha2.Binding) []workv1alpha2.TargetCluster {
		targets, _ := w.latest(other)
		return targets
	})
	if len(w.Quotas) > 0 {
		in.Quotas = quota.For(w.Quotas, UsedByOthers(b, w))
	}
	return in
}

// UsedByOthers returns the usage of the other bindings in the namespace of a binding.
func UsedByOthers(b workv1alpha2.Binding, w World) corev1.ResourceList {
	if w.Used != nil {
		return w.Used.Others(b.GetName())
	}
	sum := corev1.ResourceList{}
	for _, other := range w.Others {
		if other.GetName() != b.GetName() {
			quota.Add(sum, Uses(other, w.latest))
		}
	}
	return sum
}

// Uses returns the usage of a binding; latest is as World.Latest, but not nil.
func Uses(b workv1alpha2.Binding, latest func(workv1alpha2.Binding) (targets []workv1alpha2.TargetCluster, admitted string)) corev1.ResourceList {
	targets, admitted := latest(b)
	return quota.UsageOf(b, admitted, targets)
}

func (w *World) latest(b workv1alpha2.Binding) (targets []workv1alpha2.TargetCluster, admitted string) {
	if w.Latest != nil {
		return w.Latest(b)
	}
	return b.BindingSpec().Clusters, b.GetAnnotations()[contract.AdmittedRequestsAnnotation]
}

// failbackPreference reads from the annotations of a binding whether its policy lets it return to preferred clusters.
func failbackPreference(annotations map[string]string) (returnToPreferred, stayInOverflow bool) {
	value := annotations[contract.ReturnToPreferredAnnotation]
	return value == "true", value == "false"
}
