package scheduler

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/scheduler/decide"
)

// ours says whether a binding is this scheduler's to place: it names no other, is not
// suspended or being deleted, and belongs to a policy. What only follows other
// bindings has no policy.
func ours(b kube.Binding) bool {
	spec := b.BindingSpec()
	if spec.SchedulerName != "" && spec.SchedulerName != Name {
		return false
	}
	if spec.Suspension != nil && ptr.Deref(spec.Suspension.Scheduling, false) {
		return false
	}
	if !b.GetDeletionTimestamp().IsZero() {
		return false
	}
	labels := b.GetLabels()
	return labels[contract.PropagationPolicyPermanentIDLabel] != "" ||
		labels[contract.ClusterPropagationPolicyPermanentIDLabel] != "" ||
		labels[contract.BindingManagedByLabel] != ""
}

// gather reads what decides on a binding. The Clusters are those of the cache, which
// nobody changes.
func (r *reconciler) gather(ctx context.Context, b kube.Binding) (decide.Input, error) {
	var list clusterv1alpha1.ClusterList
	if err := r.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return decide.Input{}, fmt.Errorf("listing clusters: %w", err)
	}
	clusters := make([]*clusterv1alpha1.Cluster, len(list.Items))
	for i := range list.Items {
		clusters[i] = &list.Items[i]
	}
	status := b.BindingStatus()
	return decide.Input{
		// A copy of the slices that record replaces, not of what is in them.
		Spec:             new(*b.BindingSpec()),
		AppliedPlacement: b.GetAnnotations()[contract.AppliedPlacementAnnotation],
		ObservedAffinity: status.SchedulerObservedAffinityName,
		LastScheduled:    status.LastScheduledTime,
		Clusters:         clusters,
	}, nil
}

// targetNames lists targets for the log.
func targetNames(targets []workv1alpha2.TargetCluster) []string {
	out := make([]string, len(targets))
	for i := range targets {
		out[i] = targets[i].Name
	}
	return out
}
