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
	"fairlead.dev/common/quota"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// World is what there is beside a binding that is decided on: for a decision, and for who
// explains one or asks what if.
type World struct {
	Clusters []*clusterv1alpha1.Cluster
	// Assumed and APIPending are as in Input.
	Assumed    fit.Reservations
	APIPending bindings.Clusters
	// Namespace is that of the binding; nil for a binding that has none.
	Namespace metav1.Object
	// Quotas are those of the namespace.
	Quotas []policyv1alpha1.FederatedResourceQuota
	// Used is what the bindings of the namespace use, if somebody has added it up; else Others are.
	Used *quota.Account
	// Others are the bindings of the namespace, and may be with the binding itself; with Used it is enough
	// if they are those of its affinity groups. They are of no use if NeedsOthers says no.
	Others []workv1alpha2.Binding
	// Latest returns what a binding was given last, which it may not say itself yet: its
	// targets, and what was admitted of its requests. If it is nil, that is what bindings say.
	Latest func(workv1alpha2.Binding) (targets []workv1alpha2.TargetCluster, admitted string)
	// Now is the time.
	Now time.Time
}

// NeedsOthers says whether other bindings of its namespace matter to where a binding goes.
func NeedsOthers(b workv1alpha2.Binding, quotas []policyv1alpha1.FederatedResourceQuota) bool {
	return b.BindingSpec().WorkloadAffinityGroups != nil || len(quotas) > 0
}

// InputOf returns all that the decision on a binding depends on. What is in the spec is shared
// with the binding.
func InputOf(b workv1alpha2.Binding, w World) Input {
	spec, status, annotations := b.BindingSpec(), b.BindingStatus(), b.GetAnnotations()
	past := workv1alpha2.EvictionsOf(b)
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
		FailedIn:         workv1alpha2.FailedIn(past, spec.Resource.ResourceVersion, w.Now),
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

// UsedByOthers is what the other bindings of the namespace of a binding use.
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

// Uses returns what a binding uses, given what tells what it was given last.
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

// failbackPreference reads from the annotations of a binding what its policy says of better places than
// the one in use.
func failbackPreference(annotations map[string]string) (returnToPreferred, stayInOverflow bool) {
	value := annotations[contract.ReturnToPreferredAnnotation]
	return value == "true", value == "false"
}
