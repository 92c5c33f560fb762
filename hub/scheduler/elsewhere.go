package scheduler

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/scheduler/decide"
)

// Scheduler is a scheduler that was registered.
type Scheduler struct {
	// namespaced places ResourceBindings, wide ClusterResourceBindings.
	namespaced, wide *reconciler
}

// Elsewhere says whether a binding would be placed in other clusters if it could not be in
// some: it makes the decision that would be made now, and throws it away. Other stages may
// call it once the manager has started.
func (s *Scheduler) Elsewhere(ctx context.Context, b kube.Binding, without []string) (bool, error) {
	if b.BindingSpec().Placement == nil {
		return false, nil
	}
	r := s.namespaced
	if b.GetNamespace() == "" {
		r = s.wide
	}
	in, err := r.foresee(ctx, b)
	if err != nil {
		return false, fmt.Errorf("gathering what decides on %q: %w", b.GetName(), err)
	}
	spec := in.Spec
	spec.Clusters = slices.DeleteFunc(slices.Clone(spec.Clusters), func(t workv1alpha2.TargetCluster) bool {
		return slices.Contains(without, t.Name)
	})
	spec.GracefulEvictionTasks = slices.Clone(spec.GracefulEvictionTasks)
	for _, name := range without {
		spec.GracefulEvictionTasks = append(spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: name})
	}
	d := decide.Decide(in)
	if d.Outcome != decide.Scheduled {
		return false, nil
	}
	return slices.ContainsFunc(d.Targets, func(t workv1alpha2.TargetCluster) bool {
		return !slices.ContainsFunc(spec.Clusters, func(have workv1alpha2.TargetCluster) bool {
			return have.Name == t.Name && have.Replicas >= t.Replicas
		})
	}), nil
}

// foresee gathers what a decision made now would depend on. The clusters are those of the
// cache: others may ask before our own handlers heard of any.
func (r *reconciler) foresee(ctx context.Context, b kube.Binding) (decide.Input, error) {
	r.deciding.Lock()
	in, err := r.gather(ctx, b, r.clock.Now())
	r.deciding.Unlock()
	if err != nil {
		return in, err
	}
	var list clusterv1alpha1.ClusterList
	if err := r.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return in, fmt.Errorf("listing clusters: %w", err)
	}
	in.Clusters = make([]*clusterv1alpha1.Cluster, len(list.Items))
	for i := range list.Items {
		in.Clusters[i] = &list.Items[i]
	}
	return in, nil
}
