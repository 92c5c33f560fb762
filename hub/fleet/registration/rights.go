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
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/hub/fleet/registration/record"
)

// Rights gives the agents of Clusters what they may do.
type Rights struct {
	hubClient client.Client
	hubReader client.Reader // live
	prefix    string
	events    kube.EventSink
	clock     clock.PassiveClock
}

// Reconcile keeps the rights of the agent of one Cluster as they should be. While the
// execution namespace is missing the watch on it wakes us. A Cluster that is being
// deleted keeps the rights that there are: its agent still has to clean up. One that was
// forgotten has none.
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

// EnsureResult says whether an agent has its rights now.
type EnsureResult struct {
	// All says whether the agent has every right.
	All bool
	// Kept is the record that keeps the name of the Cluster, for which missing rights are withheld; nil if they are not.
	Kept *corev1.ConfigMap
}

// Ensure writes what is missing or different, and reports whether all of it is there:
// without the execution namespace the right to the Works in it cannot be. Reader says
// how the namespace is read. Nothing is written for a Cluster that is not as it was seen.
func (r *Rights) Ensure(ctx context.Context, cluster *clusterv1alpha1.Cluster, reader client.Reader) (EnsureResult, error) {
	namespace := &corev1.Namespace{}
	name := contract.ExecutionNamespace(r.prefix, cluster.Name)
	err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return EnsureResult{}, fmt.Errorf("reading the execution namespace of %q: %w", cluster.Name, err)
	case namespace.UID == "", !namespace.DeletionTimestamp.IsZero(): // there is none yet, or still an old one
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

// keptInstead returns what keeps the name of the Cluster if rights are missing, as far as the cache knows: then they are not to be given, since
// somebody forgets it just now and has yet to mark it, or was stopped before that. It returns nil if rights are to be given.
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
				return nil, nil //nolint:nilnil // that it is not kept is an answer
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
	return nil, nil //nolint:nilnil // nothing is missing
}

// bindingsOf are what gives an agent anything: without them its roles are nobody's.
func bindingsOf(r grant.Rights) []client.Object {
	return []client.Object{r.ClusterBinding, r.WorksBinding, r.LeaseBinding}
}
