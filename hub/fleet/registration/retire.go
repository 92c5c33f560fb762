package registration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/hub/fleet/registration/record"
)

// Forget retires a Cluster: its name is reserved for its member, its agent loses its rights at once, and the Cluster is
// deleted without waiting for the agent. Forget may be repeated after an interruption. The Cluster must have been read
// live.
func Forget(
	ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, by string, now time.Time,
) error {
	// 1. Reserve the name: from here on only its own member can join under it.
	retirement := grant.Retired(cluster, now.UTC().Format(time.RFC3339), by)
	for _, obj := range []client.Object{retirement.Record, retirement.Role, retirement.Binding} {
		err := hubClient.Create(ctx, obj, client.FieldOwner(contract.FieldManagerRegistration))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("keeping the name of cluster %q: %w", cluster.Name, err)
		}
	}
	// 2. Mark the Cluster: from here on nobody restores the rights, or waits for the agent.
	value, err := record.Write(record.Retired{At: metav1.NewTime(now).Rfc3339Copy().UTC(), By: by})
	if err != nil {
		return err
	}
	namespace := cmp.Or(cluster.Annotations[contract.ExecutionNamespaceAnnotation],
		contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster.Name))
	err = markRetired(ctx, hubClient, hubReader, cluster, value)
	if kube.IsTooLarge(err) || apierrors.IsConflict(err) {
		err = markLockedOut(ctx, hubClient, hubReader, cluster, namespace, value)
	}
	if err != nil {
		return err
	}
	// 3. Lock the agent out.
	if err := revoke(ctx, hubClient, hubReader, cluster, namespace); err != nil {
		return err
	}
	// 4. Delete the Cluster; the cluster stage does the rest.
	if err := hubClient.Delete(ctx, cluster, client.Preconditions{UID: &cluster.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting cluster %q: %w", cluster.Name, err)
	}
	return nil
}

// markRetired marks a Cluster as retired. Stages of the hub write to it as well, so conflicts are retried rather than
// returned to the operator.
func markRetired(ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, value string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if record.IsRetired(cluster.Annotations) {
			return nil
		}
		marked := cluster.DeepCopy() // a failed write must not leave the mark on the Cluster
		edit, err := kube.Begin(marked)
		if err != nil {
			return fmt.Errorf("editing cluster %q: %w", cluster.Name, err)
		}
		metav1.SetMetaDataAnnotation(&marked.ObjectMeta, contract.RetiredAnnotation, value)
		_, err = edit.Commit(ctx, hubClient, contract.FieldManagerRegistration)
		switch {
		case err == nil:
			*cluster = *marked
			return nil
		case apierrors.IsConflict(err):
			latest := &clusterv1alpha1.Cluster{}
			if err := hubReader.Get(ctx, client.ObjectKeyFromObject(cluster), latest); err != nil {
				return fmt.Errorf("reading cluster %q again: %w", cluster.Name, err)
			}
			if latest.UID != cluster.UID {
				return fmt.Errorf("retiring cluster %q: %w", cluster.Name, errAnother)
			}
			*cluster = *latest
		}
		return fmt.Errorf("retiring cluster %q: %w", cluster.Name, err)
	})
}

// markLockedOut marks a Cluster whose agent prevents it: its status leaves no room for the mark, or is written so often
// that every other write conflicts. The agent is locked out first, so that it cannot refill what is cleared. While the
// name is reserved nobody restores the rights (see Rights.Ensure); after an interruption, forget the cluster again.
func markLockedOut(
	ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, namespace, value string,
) error {
	if err := revoke(ctx, hubClient, hubReader, cluster, namespace); err != nil {
		return err
	}
	return kube.WriteOrMakeRoom(ctx, hubClient, cluster, contract.FieldManagerRegistration, func() error {
		return markRetired(ctx, hubClient, hubReader, cluster, value)
	})
}

// Release ends the reservation of a name.
func Release(ctx context.Context, hubClient client.Client, cluster string) error {
	retirement := grant.RetiredOf(cluster)
	// The record goes last: while it exists, Release can be repeated.
	for _, obj := range []client.Object{retirement.Binding, retirement.Role, retirement.Record} {
		if err := hubClient.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("releasing the name %q: %w", cluster, err)
		}
	}
	return nil
}

// errAnother says that the Cluster to retire is gone, and another member has since joined under its name.
var errAnother = errors.New("another member has joined under this name meanwhile")

// revoke deletes the bindings of an agent's rights. The roles grant nothing without them, and are garbage-collected
// with the Cluster.
//
// Rights are named after the Cluster, so they may belong to a later join. They are read first, and the Cluster after
// them: if it is still the same Cluster, the rights are not those of a later join. They are deleted only in the version
// that was read.
func revoke(ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, namespace string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var given []client.Object
		for _, obj := range bindingsOf(grant.To(cluster, namespace)) {
			err := hubReader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			if client.IgnoreNotFound(err) != nil {
				return err //nolint:wrapcheck // wrapped below
			}
			if err == nil {
				given = append(given, obj)
			}
		}
		is, err := kube.ClusterNow(ctx, hubReader, cluster.Name)
		if err != nil {
			return err //nolint:wrapcheck // wrapped below
		}
		if is != nil && is.UID != cluster.UID {
			return errAnother
		}
		for _, obj := range given {
			uid, version := obj.GetUID(), obj.GetResourceVersion()
			err := hubClient.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
			if client.IgnoreNotFound(err) != nil {
				return err //nolint:wrapcheck // wrapped below
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("taking the rights of the agent of cluster %q away: %w", cluster.Name, err)
	}
	return nil
}

// revoked removes the rights of a retired Cluster's agent again, in case somebody restored them.
func (r *Rights) revoked(ctx context.Context, cluster *clusterv1alpha1.Cluster) error {
	namespace := contract.ExecutionNamespace(r.prefix, cluster.Name)
	rights := grant.To(cluster, namespace)
	for _, obj := range bindingsOf(rights) {
		err := r.hubClient.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil {
			if err := kube.ConfirmCluster(ctx, r.hubReader, cluster); err != nil {
				return fmt.Errorf("looking whether cluster %q is retired: %w", cluster.Name, err)
			}
			return revoke(ctx, r.hubClient, r.hubReader, cluster, namespace)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("looking for rights of the agent of cluster %q: %w", cluster.Name, err)
		}
	}
	return nil
}
