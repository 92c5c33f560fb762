package setup

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/scheduler/decide"
)

// elsewhere returns what tells whether the scheduler would find a place for a binding if
// it could not be in some clusters: it makes the decision that the scheduler would make,
// and throws it away.
func elsewhere(reader client.Reader, now clock.PassiveClock) func(context.Context, kube.Binding, []string) (bool, error) {
	return func(ctx context.Context, b kube.Binding, without []string) (bool, error) {
		var list clusterv1alpha1.ClusterList
		if err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("listing clusters: %w", err)
		}
		clusters := make([]*clusterv1alpha1.Cluster, len(list.Items))
		for i := range list.Items {
			clusters[i] = &list.Items[i]
		}
		spec := *b.BindingSpec()
		if spec.Placement == nil {
			return false, nil
		}
		spec.Clusters = slices.DeleteFunc(slices.Clone(spec.Clusters), func(t workv1alpha2.TargetCluster) bool {
			return slices.Contains(without, t.Name)
		})
		spec.GracefulEvictionTasks = slices.Clone(spec.GracefulEvictionTasks)
		for _, name := range without {
			spec.GracefulEvictionTasks = append(spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: name})
		}
		d := decide.Decide(decide.Input{
			Spec: &spec, AppliedPlacement: b.GetAnnotations()[contract.AppliedPlacementAnnotation],
			ObservedAffinity: b.BindingStatus().SchedulerObservedAffinityName, LastScheduled: b.BindingStatus().LastScheduledTime,
			Clusters: clusters, GivenUp: workv1alpha2.GivenUp(workv1alpha2.EvictionsOf(b), spec.Resource.ResourceVersion, now.Now()),
		})
		if d.Outcome != decide.Scheduled {
			return false, nil
		}
		return slices.ContainsFunc(d.Targets, func(t workv1alpha2.TargetCluster) bool {
			return !slices.ContainsFunc(spec.Clusters, func(have workv1alpha2.TargetCluster) bool {
				return have.Name == t.Name && have.Replicas >= t.Replicas
			})
		}), nil
	}
}
