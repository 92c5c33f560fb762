package operate

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// Cordon has nothing new sent to a cluster; with evict, what runs there is moved away too. It
// says whether that changed anything.
func Cordon(ctx context.Context, hubClient client.Client, name string, evict bool, fieldManager string) (bool, error) {
	taints := []corev1.Taint{{Key: contract.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	if evict {
		taints = append(taints, corev1.Taint{Key: contract.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoExecute})
	}
	return retaint(ctx, hubClient, name, fieldManager, func(have []corev1.Taint) []corev1.Taint {
		for _, t := range taints {
			if !slices.ContainsFunc(have, same(t)) {
				have = append(have, t)
			}
		}
		return have
	})
}

// Uncordon takes back what Cordon did. It says whether that changed anything.
func Uncordon(ctx context.Context, hubClient client.Client, name, fieldManager string) (bool, error) {
	return retaint(ctx, hubClient, name, fieldManager, func(have []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(have, func(t corev1.Taint) bool { return t.Key == contract.TaintClusterUnschedulable })
	})
}

func retaint(ctx context.Context, hubClient client.Client, name, fieldManager string, change func([]corev1.Taint) []corev1.Taint) (bool, error) {
	changed := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cluster := &clusterv1alpha1.Cluster{}
		err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("the hub has no cluster %q; see `kubectl get clusters`", name)
		case err != nil:
			return fmt.Errorf("reading cluster %q: %w", name, err)
		}
		edit, err := kube.Begin(cluster)
		if err != nil {
			return err
		}
		cluster.Spec.Taints = change(cluster.Spec.Taints)
		if changed, err = edit.Commit(ctx, hubClient, fieldManager); err != nil {
			return fmt.Errorf("changing the taints of cluster %q: %w", name, err)
		}
		return nil
	})
	return changed, err
}

// same says whether a taint is of the same key and effect; the value does not count.
func same(t corev1.Taint) func(corev1.Taint) bool {
	return func(other corev1.Taint) bool { return other.Key == t.Key && other.Effect == t.Effect }
}
