package registration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/registration/record"
)

// leaveReconciler forgets members that ask for it, and those whose Cluster was deleted, which means the same. It also
// completes a removal that was interrupted. Their objects stay in the member: the request could come from somebody who
// stole the agent's certificate.
type leaveReconciler struct {
	hubClient client.Client
	hubReader client.Reader // live
	events    eventsink.Sink
	clock     clock.PassiveClock
}

// register adds the controller to a manager.
func (l *leaveReconciler) register(mgr manager.Manager) error {
	err := kube.NewController(mgr, "leaving", 1).
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
			cluster, ok := obj.(*clusterv1alpha1.Cluster)
			return ok && leaves(cluster)
		}))).
		Complete(kube.QuietConflicts(reconcile.AsReconciler(l.hubClient, l)))
	if err != nil {
		return fmt.Errorf("registering the members that leave: %w", err)
	}
	return nil
}

// leaves says whether the removal of a Cluster is due and not complete: its member asks to be forgotten, or somebody
// deleted the Cluster or started to forget it.
func leaves(cluster *clusterv1alpha1.Cluster) bool {
	switch retired := record.IsRetired(cluster.Annotations); {
	case !cluster.DeletionTimestamp.IsZero():
		return !retired && cluster.Spec.ID != ""
	case retired:
		return true
	}
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterLeaveRequested)
}

// BeingRemoved says whether a Cluster is being removed, or is about to be: it was deleted or forgotten, or its member
// asked to be forgotten. The hub completes such a removal in any case.
func BeingRemoved(cluster *clusterv1alpha1.Cluster) bool {
	return !cluster.DeletionTimestamp.IsZero() || leaves(cluster)
}

// Reconcile forgets one Cluster that leaves. It reads the Cluster live: the cache may return one that is gone, whose
// member has since joined again under the same name.
func (l *leaveReconciler) Reconcile(ctx context.Context, cached *clusterv1alpha1.Cluster) (ctrl.Result, error) {
	if !leaves(cached) {
		return ctrl.Result{}, nil
	}
	cluster := &clusterv1alpha1.Cluster{}
	if err := l.hubReader.Get(ctx, client.ObjectKeyFromObject(cached), cluster); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("reading cluster %q before it is forgotten: %w", cached.Name, err)
		}
		return ctrl.Result{}, nil
	}
	if cluster.UID != cached.UID || !leaves(cluster) {
		return ctrl.Result{}, kube.CacheBehind(clusterv1alpha1.GroupVersion.WithResource("clusters").GroupResource(), cached.Name)
	}
	if !cluster.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, l.deleted(ctx, cluster)
	}
	if record.IsRetired(cluster.Annotations) {
		return ctrl.Result{}, l.finish(ctx, cluster)
	}
	if err := Forget(ctx, l.hubClient, l.hubReader, cluster, contract.AgentUser(cluster.Name), l.clock.Now()); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("Forgetting the cluster, because its member leaves", "Cluster", cluster.Name)
	l.events(eventsink.Event{
		Regarding: cluster, Type: corev1.EventTypeNormal, Reason: clusterv1alpha1.ReasonAgentLeaves, Action: "Leaving",
		Note: fmt.Sprintf("The member of cluster %s left; the name is kept for it until `hub forget %s --release`.", cluster.Name, cluster.Name),
	})
	return ctrl.Result{}, nil
}

// deleted forgets a Cluster that was deleted without `hub forget`.
func (l *leaveReconciler) deleted(ctx context.Context, cluster *clusterv1alpha1.Cluster) error {
	if err := Forget(ctx, l.hubClient, l.hubReader, cluster, "whoever deleted the Cluster", l.clock.Now()); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Forgetting the cluster, because it was deleted", "Cluster", cluster.Name)
	l.events(eventsink.Event{
		Regarding: cluster, Type: corev1.EventTypeNormal, Reason: "ClusterForgotten", Action: "Forgetting",
		Note: fmt.Sprintf("Cluster %s was deleted, so its agent is locked out; the name is kept for its member until `hub forget %s --release`.", cluster.Name, cluster.Name),
	})
	return nil
}

// finish deletes a Cluster that is forgotten in all other respects: its name is reserved, and its agent has no rights
// (see Rights).
func (l *leaveReconciler) finish(ctx context.Context, cluster *clusterv1alpha1.Cluster) error {
	if err := l.hubClient.Delete(ctx, cluster, client.Preconditions{UID: &cluster.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting cluster %q, which is forgotten: %w", cluster.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Deleting the forgotten cluster", "Cluster", cluster.Name)
	return nil
}
