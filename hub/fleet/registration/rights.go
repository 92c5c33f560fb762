package registration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/hub/fleet/registration/record"
)

// Rights reconciles the rights of the agents of Clusters.
type Rights struct {
	hubClient client.Client
	hubReader client.Reader // live
	prefix    string
	events    eventsink.Sink
	clock     clock.PassiveClock
}

// Reconcile ensures the rights of one Cluster's agent. While the execution namespace is missing, it waits for the watch
// on namespaces. A Cluster that is being deleted keeps the existing rights, since its agent still has to clean up; one
// that was forgotten has none.
func (r *Rights) Reconcile(ctx context.Context, cluster *clusterv1alpha1.Cluster) (ctrl.Result, error) {
	if record.IsRetired(cluster.Annotations) {
		return ctrl.Result{}, r.revoked(ctx, cluster)
	}
	if !cluster.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	out, err := r.Ensure(ctx, cluster, r.hubClient)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.tell(ctx, cluster, out)
}

// EnsureResult is the result of Rights.Ensure.
type EnsureResult struct {
	// All says that the agent has all its rights.
	All bool
	// Kept is the record that reserves the Cluster's name, if missing rights are withheld because of it; else nil.
	Kept *corev1.ConfigMap
}

// Ensure creates or corrects the rights, and reports whether they are complete: without the execution namespace there
// is no right to the Works in it. The namespace is read through reader. Nothing is written if the Cluster has changed
// since it was read.
func (r *Rights) Ensure(ctx context.Context, cluster *clusterv1alpha1.Cluster, reader client.Reader) (EnsureResult, error) {
	namespace := &corev1.Namespace{}
	name := contract.ExecutionNamespace(r.prefix, cluster.Name)
	err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return EnsureResult{}, fmt.Errorf("reading the execution namespace of %q: %w", cluster.Name, err)
	case namespace.UID == "", !namespace.DeletionTimestamp.IsZero(): // not created yet, or the old one still terminates
		return EnsureResult{}, nil
	}
	rights := grant.To(cluster, name)
	if kept, err := r.keptInstead(ctx, cluster, rights); kept != nil || err != nil {
		return EnsureResult{Kept: kept}, err
	}
	to := &recipient{Rights: r, cluster: cluster}
	for _, ensure := range []func() error{
		func() error { return to.ensureOwners(ctx, &rights) },
		func() error { return to.ensureRole(ctx, rights.Works) },
		func() error { return to.ensureRoleBinding(ctx, rights.WorksBinding) },
		func() error { return to.ensureHeartbeat(ctx, rights.Heartbeat) },
		func() error { return to.ensureRole(ctx, rights.Lease) },
		func() error { return to.ensureRoleBinding(ctx, rights.LeaseBinding) },
	} {
		if err := ensure(); err != nil {
			return EnsureResult{}, fmt.Errorf("giving the agent of cluster %q its rights: %w", cluster.Name, err)
		}
	}
	return EnsureResult{All: true}, nil
}

// keptInstead returns the record that reserves the Cluster's name if rights are missing, as far as the cache knows.
// They must not be restored then: somebody is forgetting the Cluster and has yet to mark it, or was interrupted before
// that. It returns nil if the rights may be created.
func (r *Rights) keptInstead(ctx context.Context, cluster *clusterv1alpha1.Cluster, rights grant.Rights) (*corev1.ConfigMap, error) {
	for _, obj := range bindingsOf(rights) {
		live, ok := obj.DeepCopyObject().(client.Object)
		if !ok {
			return nil, fmt.Errorf("copying %q: a copy of %T is no object", obj.GetName(), obj)
		}
		err := r.hubClient.Get(ctx, client.ObjectKeyFromObject(obj), live)
		if apierrors.IsNotFound(err) {
			kept := grant.RetiredOf(cluster.Name).Record
			err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(kept), kept)
			if apierrors.IsNotFound(err) {
				return nil, nil //nolint:nilnil // nil means that it is not reserved
			}
			if err != nil {
				return nil, fmt.Errorf("looking whether the name %q is kept: %w", cluster.Name, err)
			}
			return kept, nil
		}
		if err != nil {
			return nil, fmt.Errorf("looking for rights of the agent of cluster %q: %w", cluster.Name, err)
		}
	}
	return nil, nil //nolint:nilnil // nil means that nothing is missing
}

// bindingsOf returns the bindings of an agent's rights, without which its roles grant nothing.
func bindingsOf(r grant.Rights) []client.Object {
	return []client.Object{r.ClusterBinding, r.WorksBinding, r.LeaseBinding}
}
