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
	"fairlead.dev/common/kube"
)

// ensureNamespace creates the execution namespace, labelled with its cluster. It returns the delay after which to check
// again; 0 if the watch on namespaces triggers the next reconcile.
func (r *Reconciler) ensureNamespace(ctx context.Context, cluster *clusterv1alpha1.Cluster) (time.Duration, error) {
	namespace := &corev1.Namespace{}
	err := r.hubClient.Get(ctx, client.ObjectKey{Name: r.namespace(cluster)}, namespace)
	switch {
	case err == nil && namespace.DeletionTimestamp.IsZero():
		return 0, r.markNamespace(ctx, cluster, namespace)
	case err == nil:
		return r.releaseDeletedNamespace(ctx, cluster, namespace)
	case !apierrors.IsNotFound(err):
		return 0, fmt.Errorf("reading the execution namespace of %q: %w", cluster.Name, err)
	}
	namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   r.namespace(cluster),
		Labels: map[string]string{contract.SystemLabel: contract.LabelTrue, contract.ExecutionNamespaceOfLabel: cluster.Name},
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

// markNamespace labels an execution namespace that an older hub or somebody else created.
func (r *Reconciler) markNamespace(ctx context.Context, cluster *clusterv1alpha1.Cluster, namespace *corev1.Namespace) error {
	if namespace.Labels[contract.ExecutionNamespaceOfLabel] == cluster.Name {
		return nil
	}
	before := namespace.DeepCopy()
	metav1.SetMetaDataLabel(&namespace.ObjectMeta, contract.ExecutionNamespaceOfLabel, cluster.Name)
	err := r.hubClient.Patch(ctx, namespace, client.MergeFrom(before), client.FieldOwner(contract.FieldManagerCluster))
	if client.IgnoreNotFound(err) != nil { // if it is gone, the watch triggers a reconcile
		return fmt.Errorf("marking the execution namespace of %q: %w", cluster.Name, err)
	}
	return nil
}

// releaseDeletedNamespace lets an execution namespace terminate that somebody deleted although its Cluster stays;
// afterwards it is created again. The agent lost its rights with the namespace, so only the hub can remove the
// finalizers of the Works; the objects in the member stay.
//
// The Works are listed before the namespace is read live: if the live read still returns the terminating namespace, the
// Works cannot belong to its successor.
func (r *Reconciler) releaseDeletedNamespace(ctx context.Context, cluster *clusterv1alpha1.Cluster, saw *corev1.Namespace) (time.Duration, error) {
	works, err := kube.WorksIn(ctx, r.hubClient, saw.Name)
	if err != nil {
		return 0, err
	}
	is, err := r.liveNamespace(ctx, saw.Name)
	if err != nil {
		return 0, err
	}
	if is == nil || is.UID != saw.UID {
		return 0, kube.CacheBehind(corev1.Resource("namespaces"), saw.Name)
	}
	left, err := r.drain(ctx, cluster, works)
	if left == 0 || err != nil {
		return 0, err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Releasing the Works of an execution namespace that is being deleted", "count", left)
	return removalPoll, nil
}

func (r *Reconciler) namespace(cluster *clusterv1alpha1.Cluster) string {
	return contract.ExecutionNamespace(r.prefix, cluster.Name)
}
