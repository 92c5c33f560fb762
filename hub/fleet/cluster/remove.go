package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

const (
	// removalPoll is the interval at which a removal checks whether it can go on. Bindings and Works are not watched for that: removals are
	// rare, and these objects change all the time.
	removalPoll = 500 * time.Millisecond
	// removalWarnAfter is the delay after which a removal that makes no progress says why.
	removalWarnAfter = 10 * time.Second
)

// waitReason says, for people, why a removal is not finished yet.
type waitReason string

const (
	waitTargeted    waitReason = "bindings"
	waitDraining    waitReason = "works"
	waitTerminating waitReason = "namespace"
)

// remove takes the next step in the removal of a Cluster, and returns the delay until the following one; 0 once the Cluster is gone.
func (r *Reconciler) remove(ctx context.Context, cluster *clusterv1alpha1.Cluster) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(cluster, contract.ClusterFinalizer) {
		return 0, nil
	}
	name := r.namespace(cluster)
	namespace, err := r.liveNamespace(ctx, name)
	if err != nil {
		return 0, err
	}
	terminating := namespace != nil && !namespace.DeletionTimestamp.IsZero()

	// 0. Registration locks the agent out first. After that, the agent cannot take the deletion of its Works for the hub's intent to delete objects.
	if _, retired := cluster.Annotations[contract.RetiredAnnotation]; cluster.Spec.ID != "" && !retired {
		return removalPoll, nil
	}

	// 1. No binding has the cluster as a target any more.
	example, count, err := r.targeting(ctx, cluster.Name)
	if err != nil {
		return 0, err
	}
	if count > 0 {
		return r.waitFor(cluster, waitTargeted, stillTargeted(cluster.Name, example, count)), nil
	}

	// From here on objects are deleted by the name of the Cluster, under which its member may have joined again. The Works are read before
	// the Cluster is confirmed, so that none of them belongs to a later join.
	works, err := kube.WorksIn(ctx, r.hubClient, name)
	if err != nil {
		return 0, err
	}
	if err := kube.ConfirmCluster(ctx, r.hubReader, cluster); err != nil {
		return 0, err
	}

	// 2. The Works are deleted. Their objects stay in the member.
	left, err := r.drain(ctx, cluster, works)
	if err != nil {
		return 0, err
	}
	if left > 0 {
		return r.waitFor(cluster, waitDraining, stillDraining(cluster.Name, left)), nil
	}

	// 3. The execution namespace is deleted, with the agent's rights in it.
	if namespace != nil {
		if !terminating {
			if err := r.deleteNamespace(ctx, namespace); client.IgnoreNotFound(err) != nil {
				r.events(removalFailed(cluster, err))
				return 0, fmt.Errorf("deleting the execution namespace of %q: %w", cluster.Name, err)
			}
			ctrl.LoggerFrom(ctx).Info("Deleting the execution namespace", "namespace", name)
			r.events(namespaceRemoved(cluster))
		}
		return r.waitFor(cluster, waitTerminating, stillTerminating(cluster.Name, name)), nil
	}

	// 4. The Cluster loses its finalizer.
	return 0, r.dropFinalizer(ctx, cluster)
}

// dropFinalizer takes the finalizer off a Cluster, which ends it.
func (r *Reconciler) dropFinalizer(ctx context.Context, cluster *clusterv1alpha1.Cluster) error {
	edit, err := kube.Begin(cluster)
	if err != nil {
		return fmt.Errorf("editing cluster %q: %w", cluster.Name, err)
	}
	controllerutil.RemoveFinalizer(cluster, contract.ClusterFinalizer)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerCluster); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("releasing cluster %q: %w", cluster.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Releasing the cluster")
	return nil
}

// deleteNamespace deletes an execution namespace. An admission policy guards these namespaces, so it is first marked as one to delete.
func (r *Reconciler) deleteNamespace(ctx context.Context, namespace *corev1.Namespace) error {
	edit, err := kube.Begin(namespace)
	if err != nil {
		return fmt.Errorf("editing namespace %q: %w", namespace.Name, err)
	}
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, contract.DeletionAllowedAnnotation, contract.LabelTrue)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerCluster); err != nil {
		return err
	}
	return r.hubClient.Delete(ctx, namespace, client.Preconditions{UID: &namespace.UID})
}

// drain deletes the Works of an execution namespace and returns how many are left. No agent has the right to remove the finalizers of these
// Works any more, so drain removes them, and the objects stay in the member. Works of a Cluster that stays are released without an intent
// to delete. One that is too large to be deleted is released all the same, which makes it smaller, and the next look deletes it.
func (r *Reconciler) drain(ctx context.Context, cluster *clusterv1alpha1.Cluster, works []*workv1alpha1.Work) (int, error) {
	var tooLarge []error
	for _, work := range works {
		if !cluster.DeletionTimestamp.IsZero() {
			err := kube.DeleteWork(ctx, r.hubClient, work, contract.DeletionClusterLeft, contract.FieldManagerCluster)
			switch {
			case kube.IsTooLarge(err):
				tooLarge = append(tooLarge, err)
			case err != nil:
				return len(works), err
			}
		}
		if err := r.release(ctx, work); err != nil {
			return len(works), err
		}
	}
	if len(works) > 0 {
		return len(works), errors.Join(tooLarge...)
	}
	empty, err := r.hasNoWorks(ctx, r.namespace(cluster))
	if err != nil || empty {
		return 0, err
	}
	return 1, nil // the cache will show it
}

// release removes the agent's finalizer from a Work of the cache, which nobody else can do any more.
func (r *Reconciler) release(ctx context.Context, cached *workv1alpha1.Work) error {
	if !controllerutil.ContainsFinalizer(cached, contract.ExecutionFinalizer) {
		return nil
	}
	work := cached.DeepCopy()
	edit, err := kube.Begin(work)
	if err != nil {
		return fmt.Errorf("editing work %q: %w", work.Name, err)
	}
	edit.Untracked() // managedFields that the agent filled may leave no room for another entry
	controllerutil.RemoveFinalizer(work, contract.ExecutionFinalizer)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerCluster)
	if client.IgnoreNotFound(err) == nil || apierrors.IsConflict(err) {
		return nil // it is gone, or the next reconcile sees the newer version
	}
	return fmt.Errorf("releasing work %q: %w", work.Name, err)
}

// waitFor emits, once and after removalWarnAfter, an event with the reason why a removal waits.
func (r *Reconciler) waitFor(cluster *clusterv1alpha1.Cluster, what waitReason, sentence string) time.Duration {
	if r.clock.Since(cluster.DeletionTimestamp.Time) >= removalWarnAfter && r.warned.IsNew(cluster.Name, reasonRemovalWaits, warningOf(cluster, string(what))) {
		r.events(removalWaits(cluster, sentence))
	}
	return removalPoll
}
