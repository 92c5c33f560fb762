package registration

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/grant"
)

// recipient is a Cluster while its agent is given rights, in one reconcile.
type recipient struct {
	*Rights

	cluster *clusterv1alpha1.Cluster
	// confirmed says that the Cluster was read live, and is as it is here.
	confirmed bool
}

// confirm reads the Cluster live before the first write. Rights are named after the Cluster and given to its join:
// since the cache saw it, the Cluster may have been forgotten, and its member may have joined again, with a new Cluster
// of the same name or the same one.
func (r *recipient) confirm(ctx context.Context) error {
	if r.confirmed {
		return nil
	}
	if err := kube.ConfirmCluster(ctx, r.hubReader, r.cluster); err != nil {
		return fmt.Errorf("looking whether cluster %q is as it was: %w", r.cluster.Name, err)
	}
	r.confirmed = true
	return nil
}

// ensureHeartbeat creates the lease of an agent. Its content belongs to the agent.
func (r *recipient) ensureHeartbeat(ctx context.Context, desired *coordinationv1.Lease) error {
	_, err := ensure(ctx, r, desired, &coordinationv1.Lease{}, func(*coordinationv1.Lease) {})
	if !apierrors.IsNotFound(err) {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   desired.Namespace,
		Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
	}}
	err = r.hubClient.Create(ctx, namespace, client.FieldOwner(contract.FieldManagerRegistration))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %q: %w", desired.Namespace, err)
	}
	_, err = ensure(ctx, r, desired, &coordinationv1.Lease{}, func(*coordinationv1.Lease) {})
	return err
}

// ensureOwners ensures the objects that the Cluster owns, and sets them as the owners of the others.
func (r *recipient) ensureOwners(ctx context.Context, rights *grant.Rights) error {
	role, err := ensure(ctx, r, rights.Cluster, &rbacv1.ClusterRole{}, func(live *rbacv1.ClusterRole) { live.Rules = rights.Cluster.Rules })
	if err != nil {
		return err
	}
	binding, err := ensure(ctx, r, rights.ClusterBinding, &rbacv1.ClusterRoleBinding{},
		func(live *rbacv1.ClusterRoleBinding) { live.Subjects = rights.ClusterBinding.Subjects })
	if err != nil {
		return err
	}
	rights.Own(role, binding)
	return nil
}

func (r *recipient) ensureRole(ctx context.Context, desired *rbacv1.Role) error {
	_, err := ensure(ctx, r, desired, &rbacv1.Role{}, func(live *rbacv1.Role) { live.Rules = desired.Rules })
	return err
}

func (r *recipient) ensureRoleBinding(ctx context.Context, desired *rbacv1.RoleBinding) error {
	_, err := ensure(ctx, r, desired, &rbacv1.RoleBinding{}, func(live *rbacv1.RoleBinding) { live.Subjects = desired.Subjects })
	return err
}

// ensure creates an object, or updates the existing one: its labels, its owner, and what merge sets. It writes only if
// something differs, and returns the object as it then exists.
func ensure[T client.Object](ctx context.Context, r *recipient, desired, live T, merge func(live T)) (T, error) {
	key := client.ObjectKeyFromObject(desired)
	err := r.hubClient.Get(ctx, key, live)
	if apierrors.IsNotFound(err) {
		if err := r.confirm(ctx); err != nil {
			return live, err
		}
		err = r.hubClient.Create(ctx, desired, client.FieldOwner(contract.FieldManagerRegistration))
		if err == nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Making a right", "name", key.Name, "namespace", key.Namespace)
			return desired, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return live, fmt.Errorf("making %q: %w", key.Name, err)
		}
		err = r.hubReader.Get(ctx, key, live) // the cache lags
	}
	if err != nil {
		return live, fmt.Errorf("reading %q: %w", key.Name, err)
	}
	edit, err := kube.Begin(live)
	if err != nil {
		return live, fmt.Errorf("editing %q: %w", key.Name, err)
	}
	before := live.DeepCopyObject()
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[contract.SystemLabel] = contract.LabelTrue
	live.SetLabels(labels)
	live.SetOwnerReferences(desired.GetOwnerReferences())
	merge(live)
	if equality.Semantic.DeepEqual(before, live) {
		return live, nil
	}
	if err := r.confirm(ctx); err != nil {
		return live, err
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); err != nil {
		return live, fmt.Errorf("correcting %q: %w", key.Name, err)
	}
	return live, nil
}
