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

// Forget retires a Cluster: its name is kept for its member, its agent loses its rights at
// once, and the Cluster is deleted without waiting for the agent. It may be called again
// if it was stopped half-way. The Cluster is one that was read live, as the reader reads.
func Forget(
	ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, by string, now time.Time,
) error {
	// 1. The name is kept first: from here on nobody joins as this cluster but its member.
	retirement := grant.Retired(cluster, now.UTC().Format(time.RFC3339), by)
	for _, obj := range []client.Object{retirement.Record, retirement.Role, retirement.Binding} {
		err := hubClient.Create(ctx, obj, client.FieldOwner(contract.FieldManagerRegistration))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("keeping the name of cluster %q: %w", cluster.Name, err)
		}
	}
	// 2. From here on nobody gives the rights again, or waits for the agent.
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
	// 3. The agent is locked out.
	if err := revoke(ctx, hubClient, hubReader, cluster, namespace); err != nil {
		return err
	}
	// 4. The rest is the hub's.
	if err := hubClient.Delete(ctx, cluster, client.Preconditions{UID: &cluster.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting cluster %q: %w", cluster.Name, err)
	}
	return nil
}

// markRetired writes on a cluster that it is retired. The stages of the hub write there as well, and whoever forgets a
// cluster is not to be told to try again because of them.
func markRetired(ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, value string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if record.IsRetired(cluster.Annotations) {
			return nil
		}
		marked := cluster.DeepCopy() // what could not be written is not on the Cluster
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

// markLockedOut marks a cluster whose agent is in the way: its status leaves no room for the mark, or is written so often that nobody else's
// write holds. The agent is locked out first, so that it fills nothing of what is cleared. While the name is kept nobody gives the rights
// again (see Rights.Ensure), and whoever is stopped here forgets the cluster once more.
func markLockedOut(
	ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, namespace, value string,
) error {
	if err := revoke(ctx, hubClient, hubReader, cluster, namespace); err != nil {
		return err
	}
	return kube.WriteOrClearStatus(ctx, hubClient, cluster, contract.FieldManagerRegistration, func() error {
		return markRetired(ctx, hubClient, hubReader, cluster, value)
	})
}

// Release gives up a name that was kept.
func Release(ctx context.Context, hubClient client.Client, cluster string) error {
	retirement := grant.RetiredOf(cluster)
	// The record goes last: as long as it is there this can be done again.
	for _, obj := range []client.Object{retirement.Binding, retirement.Role, retirement.Record} {
		if err := hubClient.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("releasing the name %q: %w", cluster, err)
		}
	}
	return nil
}

// errAnother says that the Cluster to be retired is gone, and that another member has joined by its name since.
var errAnother = errors.New("another one has joined by this name meanwhile")

// revoke takes the rights of an agent away. Its roles give nobody anything without the
// bindings, and go with the Cluster.
//
// The rights are found by the name of the Cluster, so they may be those of a later join. They are read first, then the Cluster: as long as it is
// not another one they are not of a later join, and they are deleted as they were read.
func revoke(ctx context.Context, hubClient client.Client, hubReader client.Reader, cluster *clusterv1alpha1.Cluster, namespace string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var given []client.Object
		for _, obj := range bindingsOf(grant.To(cluster, namespace)) {
			err := hubReader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			if client.IgnoreNotFound(err) != nil {
				return err //nolint:wrapcheck // said below
			}
			if err == nil {
				given = append(given, obj)
			}
		}
		is, err := kube.ClusterNow(ctx, hubReader, cluster.Name)
		if err != nil {
			return err //nolint:wrapcheck // said below
		}
		if is != nil && is.UID != cluster.UID {
			return errAnother
		}
		for _, obj := range given {
			uid, version := obj.GetUID(), obj.GetResourceVersion()
			err := hubClient.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
			if client.IgnoreNotFound(err) != nil {
				return err //nolint:wrapcheck // said below
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("taking the rights of the agent of cluster %q away: %w", cluster.Name, err)
	}
	return nil
}

// revoked takes the rights of the agent of a retired Cluster away again, should there be
// any: somebody may have given them back.
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
