package registration

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/approve"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/hub/fleet/registration/record"
)

// register adds the controller of requests. It also watches execution namespaces, since a join may wait for one.
func (r *Reconciler) register(mgr manager.Manager) error {
	err := kube.NewController(mgr, "registration", 1).
		For(&certificatesv1.CertificateSigningRequest{}, builder.WithPredicates(undecidedOrIssued())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.requestsOfNamespace), builder.WithPredicates(created())).
		Complete(kube.QuietConflicts(reconcile.AsReconciler(r.hubClient, r)))
	if err != nil {
		return fmt.Errorf("registering the registration stage: %w", err)
	}
	return nil
}

// register adds the controller of rights. It watches Clusters, execution namespaces, and the rights themselves, to
// revert changes by others.
func (r *Rights) register(mgr manager.Manager, workers int) error {
	err := kube.NewController(mgr, "rights", workers).
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, retires(), joins()))).
		Watches(&rbacv1.Role{}, handler.EnqueueRequestsFromMapFunc(clusterOfRight)).
		Watches(&rbacv1.RoleBinding{}, handler.EnqueueRequestsFromMapFunc(clusterOfRight)).
		Watches(&rbacv1.ClusterRole{}, handler.EnqueueRequestsFromMapFunc(clusterOfRight)).
		Watches(&rbacv1.ClusterRoleBinding{}, handler.EnqueueRequestsFromMapFunc(clusterOfRight)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(clusterOfRight), builder.WithPredicates(deleted())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.clusterOfNamespace), builder.WithPredicates(created())).
		Complete(kube.QuietConflicts(reconcile.AsReconciler(r.hubClient, r)))
	if err != nil {
		return fmt.Errorf("registering the rights of agents: %w", err)
	}
	return nil
}

// clusterOfRight maps a right to its cluster by name: namespaced rights are not owned by the Cluster.
func clusterOfRight(_ context.Context, right client.Object) []ctrl.Request {
	cluster, ok := grant.ClusterOf(right.GetNamespace(), right.GetName())
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

func (r *Rights) clusterOfNamespace(_ context.Context, namespace client.Object) []ctrl.Request {
	cluster, ok := contract.ClusterOf(r.prefix, namespace.GetName())
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

// requestsOfNamespace maps an execution namespace to the undecided requests of its cluster.
func (r *Reconciler) requestsOfNamespace(ctx context.Context, namespace client.Object) []ctrl.Request {
	cluster, ok := contract.ClusterOf(r.rights.prefix, namespace.GetName())
	if !ok {
		return nil
	}
	var csrs certificatesv1.CertificateSigningRequestList
	if err := r.hubClient.List(ctx, &csrs, client.MatchingFields{pendingByCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Listing requests failed; they look again by themselves", "reason", err.Error())
		return nil
	}
	var out []ctrl.Request
	for i := range csrs.Items {
		out = append(out, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&csrs.Items[i])})
	}
	return out
}

// pendingByCluster is the index of undecided requests by cluster. While a fleet joins there are as many requests as
// execution namespaces, and each namespace looks its requests up.
const pendingByCluster = "pending-cluster"

// pendingFor is the index function of pendingByCluster.
func pendingFor(obj client.Object) []string {
	csr, ok := obj.(*certificatesv1.CertificateSigningRequest)
	if !ok || !pending(csr) {
		return nil
	}
	if request, ours := approve.Read(csr.Spec); ours && request.Cluster != "" {
		return []string{request.Cluster}
	}
	return nil
}

// undecidedOrIssued drops requests that this stage does not decide about, and those that need nothing now.
func undecidedOrIssued() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool {
		csr, ok := obj.(*certificatesv1.CertificateSigningRequest)
		if !ok || !pending(csr) && len(csr.Status.Certificate) == 0 {
			return false
		}
		_, ours := approve.Read(csr.Spec)
		return ours
	})
}

// retires passes updates in which a Cluster becomes forgotten.
func retires() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return record.IsRetired(e.ObjectNew.GetAnnotations()) && !record.IsRetired(e.ObjectOld.GetAnnotations())
	}}
}

// joins passes updates in which the join of a Cluster changes.
func joins() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return record.JoinOf(e.ObjectNew.GetAnnotations()) != record.JoinOf(e.ObjectOld.GetAnnotations())
	}}
}

func created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}
