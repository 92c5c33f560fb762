package presence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// durationSeconds is the leaseDurationSeconds of a renewal.
func (r *leaseRenewer) durationSeconds() int32 {
	duration := r.duration
	if r.resting {
		duration += restEvery
	}
	return int32(math.Ceil(duration.Seconds()))
}

// renew writes one renewal. It leaves out annotations that the hub refuses.
func (r *leaseRenewer) renew(ctx context.Context) error {
	spec := coordinationv1.LeaseSpec{
		HolderIdentity:       &r.cluster,
		LeaseDurationSeconds: new(r.durationSeconds()),
		RenewTime:            new(metav1.NewMicroTime(r.clock.Now())),
	}
	annotations := r.pendingAnnotations()
	lease, err := r.write(ctx, spec, annotations)
	r.unanswered = err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
	if apierrors.IsConflict(err) {
		return r.resolveConflict(ctx)
	}
	if len(annotations) > 0 && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && r.dropAnnotation() {
		return r.renew(ctx)
	}
	if err != nil {
		r.refused = 0 // the next answer may come from another hub, or from one that has loaded its RBAC by then
		return fmt.Errorf("renewing the lease of %q: %w", r.cluster, err)
	}
	r.left, r.seen = lease, lease.Annotations
	return nil
}

// write writes the Lease and returns it as written. It clears managedFields, which halves the size of 8,640 answers a
// day: a list with one empty entry clears them, and they stay empty afterwards.
func (r *leaseRenewer) write(ctx context.Context, spec coordinationv1.LeaseSpec, annotations map[string]string) (*coordinationv1.Lease, error) {
	if r.left == nil {
		return r.patch(ctx, spec, annotations)
	}
	// An update is cheaper for the API server than a patch, for which it decodes and encodes the object once more.
	lease := r.left.DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = spec.HolderIdentity, spec.LeaseDurationSeconds, spec.RenewTime
	if len(lease.ManagedFields) > 0 {
		lease.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	}
	if lease.Annotations == nil && len(annotations) > 0 {
		lease.Annotations = map[string]string{}
	}
	maps.Copy(lease.Annotations, annotations)
	return lease, r.hubClient.Update(ctx, lease, client.FieldOwner(contract.FieldManagerAgent))
}

// patch writes the Lease before this process has read it.
func (r *leaseRenewer) patch(ctx context.Context, spec coordinationv1.LeaseSpec, annotations map[string]string) (*coordinationv1.Lease, error) {
	metadata := map[string]any{"managedFields": []any{map[string]any{}}}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("encoding the lease of %q: %w", r.cluster, err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: r.cluster}}
	return lease, r.hubClient.Patch(ctx, lease, client.RawPatch(types.MergePatchType, data), client.FieldOwner(contract.FieldManagerAgent))
}

// resolveConflict handles a Lease that is not the one this process wrote last. If another agent wrote it, it is
// renewed; if it is older, the hub was restored from a snapshot.
func (r *leaseRenewer) resolveConflict(ctx context.Context) error {
	lease, err := r.read(ctx, "")
	if err != nil {
		return fmt.Errorf("reading the lease of %q: %w", r.cluster, err)
	}
	left, old := r.left, r.isOld(lease)
	r.left = lease
	if old {
		return &RestoredError{Whose: "hub", Left: left.ResourceVersion, Found: lease.ResourceVersion}
	}
	return r.renew(ctx)
}
