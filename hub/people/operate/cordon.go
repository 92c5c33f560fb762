package operate

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// Cordon keeps new workloads away from a cluster; with evict, it also evicts those that run there. It says whether that
// changed anything.
func Cordon(ctx context.Context, hubClient client.Client, name string, evict bool, fieldManager string) (bool, error) {
	taints := []corev1.Taint{{Key: contract.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	if evict {
		taints = append(taints, corev1.Taint{Key: contract.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoExecute})
	}
	return editTaints(ctx, hubClient, name, fieldManager, func(have []corev1.Taint) []corev1.Taint {
		for _, t := range taints {
			if !slices.ContainsFunc(have, same(t)) {
				have = append(have, t)
			}
		}
		return have
	})
}

// Uncordon reverts Cordon. It says whether that changed anything.
func Uncordon(ctx context.Context, hubClient client.Client, name, fieldManager string) (bool, error) {
	return editTaints(ctx, hubClient, name, fieldManager, func(have []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(have, func(t corev1.Taint) bool { return t.Key == contract.TaintClusterUnschedulable })
	})
}

func editTaints(ctx context.Context, hubClient client.Client, name, fieldManager string, change func([]corev1.Taint) []corev1.Taint) (bool, error) {
	return editCluster(ctx, hubClient, name, fieldManager, "changing the taints", func(c *clusterv1alpha1.Cluster) { c.Spec.Taints = change(c.Spec.Taints) })
}

// same matches a taint by key and effect, ignoring its value.
func same(t corev1.Taint) func(corev1.Taint) bool {
	return func(other corev1.Taint) bool { return other.Key == t.Key && other.Effect == t.Effect }
}
