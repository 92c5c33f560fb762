package connect

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/peers"
)

// replicaPrefix starts the names of the replicas' Leases. They are in replicaNamespace: whoever may write there
// controls the hub.
const (
	replicaPrefix    = "fairlead-hub-"
	replicaNamespace = metav1.NamespaceSystem
)

// Replicas stores the Leases of the hub's replicas. It implements peers.Directory.
type Replicas struct {
	// HubClient reads and writes Leases live.
	HubClient client.Client
	// Clock gives the renewTime, for people.
	Clock clock.PassiveClock
}

var _ peers.Directory = Replicas{}

// List implements peers.Directory.
func (r Replicas) List(ctx context.Context) ([]peers.Record, error) {
	leases := &coordinationv1.LeaseList{}
	if err := r.HubClient.List(ctx, leases, client.InNamespace(replicaNamespace), client.MatchingLabels{contract.ReplicaLabel: contract.LabelTrue}); err != nil {
		return nil, fmt.Errorf("listing the Leases of the hub's replicas: %w", err)
	}
	var out []peers.Record
	for i := range leases.Items {
		lease := &leases.Items[i]
		id, is := strings.CutPrefix(lease.Name, replicaPrefix)
		if !is {
			continue
		}
		out = append(out, peers.Record{
			ID: id, Version: lease.ResourceVersion,
			Address: lease.Annotations[contract.PeerAddressAnnotation], Pin: lease.Annotations[contract.PeerPinAnnotation],
		})
	}
	return out, nil
}

// Renew implements peers.Directory.
func (r Replicas) Renew(ctx context.Context, record peers.Record) error {
	lease := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"holderIdentity": record.ID, "leaseDurationSeconds": int64(peers.LeaseDuration / time.Second),
		"renewTime": r.Clock.Now().UTC().Format(metav1.RFC3339Micro),
	}}}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	lease.SetNamespace(replicaNamespace)
	lease.SetName(replicaPrefix + record.ID)
	lease.SetLabels(map[string]string{contract.ReplicaLabel: contract.LabelTrue, contract.SystemLabel: contract.LabelTrue})
	lease.SetAnnotations(map[string]string{contract.PeerAddressAnnotation: record.Address, contract.PeerPinAnnotation: record.Pin})
	err := r.HubClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(lease), client.FieldOwner(contract.FieldManagerInstall), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("renewing the Lease of this replica: %w", err)
	}
	return nil
}

// Remove implements peers.Directory.
func (r Replicas) Remove(ctx context.Context, record peers.Record) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: replicaNamespace, Name: replicaPrefix + record.ID}}
	var o client.DeleteOptions
	if record.Version != "" {
		o.Preconditions = &metav1.Preconditions{ResourceVersion: &record.Version}
	}
	if err := r.HubClient.Delete(ctx, lease, &o); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the Lease of replica %q: %w", record.ID, err)
	}
	return nil
}
