package binding

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/fanout"
)

// What is removed from a member cannot be restored as it was. When a hub has just become active, its cache may be older than what the
// previous active hub did. So everything that a deletion is based on is read live first: the binding, the Cluster, and, if its namespace
// may not use the cluster, the Namespace. Only deletions cost these reads.

// behind returns the error for a stale cache, which leads to a retry.
func (r *reconciler) behind(b kube.Binding) error {
	return kube.CacheBehind(workv1alpha2.GroupVersion.WithResource(strings.ToLower(r.kind.Kind)+"s").GroupResource(), b.GetName())
}

// confirm reads a binding live before anything is deleted because of it.
func (r *reconciler) confirm(ctx context.Context, cached kube.Binding, plan fanout.Plan) error {
	if len(plan.Delete) == 0 {
		return nil
	}
	live := r.kind.New()
	err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(cached), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s %q before its Works are deleted: %w", r.kind.Kind, cached.GetName(), err)
	}
	if err != nil || live.GetUID() != cached.GetUID() || live.GetGeneration() != cached.GetGeneration() ||
		live.GetDeletionTimestamp().IsZero() != cached.GetDeletionTimestamp().IsZero() {
		return r.behind(cached)
	}
	return nil
}

// confirmRefused reads live which clusters a namespace may use, before a Work is deleted because its cluster was refused.
func (r *reconciler) confirmRefused(ctx context.Context, s *scope, plan fanout.Plan) error {
	refused := func(name string) bool {
		return slices.ContainsFunc(s.refused, func(f failure) bool { return f.cluster == name })
	}
	for _, d := range plan.Delete {
		name, _ := contract.ClusterOf(r.prefix, d.Live.Namespace)
		if !refused(name) {
			continue
		}
		not, err := r.mayNotUse(ctx, s.binding.GetNamespace(), name)
		if err != nil {
			return err
		}
		if !not {
			return r.behind(s.binding)
		}
	}
	return nil
}

// mayNotUse reads live whether a namespace may not use a cluster that stays. It returns false if the annotation is unusable, or if the
// namespace or the cluster is gone.
func (r *reconciler) mayNotUse(ctx context.Context, namespace, name string) (bool, error) {
	ns, cluster := &corev1.Namespace{}, &clusterv1alpha1.Cluster{}
	err := r.hubReader.Get(ctx, client.ObjectKey{Name: namespace}, ns)
	if err == nil {
		err = r.hubReader.Get(ctx, client.ObjectKey{Name: name}, cluster)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading whether namespace %q may use cluster %q: %w", namespace, name, err)
	}
	allowance := selector.AllowanceOf(ns)
	if allowance == nil || !cluster.DeletionTimestamp.IsZero() || allowance.Allows(cluster) {
		return false, nil
	}
	all, err := kube.Clusters(ctx, r.hubClient)
	return err == nil && allowance.Unusable(all) == "", err
}

// confirmIntent reads live whether the cluster of a Work leaves or has left the fleet, before the deletion removes anything from its
// member. A Cluster that the cache does not show may be new.
func (r *reconciler) confirmIntent(ctx context.Context, d *fanout.Deletion) error {
	name, known := contract.ClusterOf(r.prefix, d.Live.Namespace)
	if !known || d.Intent == contract.DeletionClusterLeft {
		return nil
	}
	leaves, err := kube.ClusterLeaves(ctx, r.hubReader, name)
	if leaves {
		d.Intent = contract.DeletionClusterLeft
	}
	return err
}
