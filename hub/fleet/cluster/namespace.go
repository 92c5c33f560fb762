package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// ensureNamespace makes the execution namespace, and returns after how long to look
// again; 0 if the watch wakes us.
func (r *Reconciler) ensureNamespace(ctx context.Context, cluster *clusterv1alpha1.Cluster) (time.Duration, error) {
	namespace := &corev1.Namespace{}
	err := r.hubClient.Get(ctx, client.ObjectKey{Name: r.namespace(cluster)}, namespace)
	switch {
	case err == nil && namespace.DeletionTimestamp.IsZero():
		return 0, nil
	case err == nil:
		return r.vacate(ctx, cluster)
	case !apierrors.IsNotFound(err):
		return 0, fmt.Errorf("reading the execution namespace of %q: %w", cluster.Name, err)
	}
	namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   r.namespace(cluster),
		Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
	}}
	if err := r.hubClient.Create(ctx, namespace, client.FieldOwner(contract.FieldManagerCluster)); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return 0, nil // the cache is behind
		}
		r.events(namespaceFailed(cluster, err))
		return 0, fmt.Errorf("making the execution namespace of %q: %w", cluster.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Making the execution namespace", "namespace", namespace.Name)
	r.events(namespaceMade(cluster, namespace.Name))
	return 0, nil
}

// vacate lets an execution namespace go that somebody deleted, though the Cluster
// stays; then it is made anew. With it went the rights of the agent, so nobody but us
// can take the finalizers from its Works; the objects in the member stay.
func (r *Reconciler) vacate(ctx context.Context, cluster *clusterv1alpha1.Cluster) (time.Duration, error) {
	left, err := r.drain(ctx, cluster)
	if left == 0 || err != nil {
		return 0, err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Releasing the Works of an execution namespace that is being deleted", "count", left)
	return removalPoll, nil
}

func (r *Reconciler) namespace(cluster *clusterv1alpha1.Cluster) string {
	return contract.ExecutionNamespace(r.prefix, cluster.Name)
}
