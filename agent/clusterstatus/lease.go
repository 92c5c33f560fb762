package clusterstatus

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/cenkalti/backoff/v4"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// firstLeaseRetry is the delay after a renewal that failed; it grows from there up to
// the usual interval.
const firstLeaseRetry = 500 * time.Millisecond

// heart renews the Lease of the member, whether the member is ready or not: it says that
// the agent is alive.
type heart struct {
	hubClient client.Client
	cluster   string
	duration  time.Duration
	interval  time.Duration
	clock     clock.Clock
	// bare says that the Lease carries no record of who set which field. Without one the
	// answers to 8,640 renewals a day are half as long.
	bare bool
}

// Start renews until the context ends.
func (h *heart) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("lease")
	retries := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstLeaseRetry),
		backoff.WithMaxInterval(h.interval),
		backoff.WithMaxElapsedTime(0),
		backoff.WithClockProvider(h.clock),
	)
	failing := false
	for {
		delay := h.interval
		err := h.beat(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Told to stop: what the last renewal came to does not matter.
		case err != nil:
			delay = retries.NextBackOff()
			if !failing {
				log.Error(err, "Renewing the lease failed; it is tried until it succeeds", "Cluster", h.cluster)
			}
			failing = true
		default:
			retries.Reset()
			if failing {
				log.Info("Renewing the lease again", "Cluster", h.cluster)
			}
			failing = false
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.clock.After(delay):
		}
	}
}

// beat renews once.
func (h *heart) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.interval)
	defer cancel()
	patch := map[string]any{"spec": map[string]any{
		"holderIdentity":       h.cluster,
		"leaseDurationSeconds": int(math.Ceil(h.duration.Seconds())),
		"renewTime":            metav1.NewMicroTime(h.clock.Now()),
	}}
	if !h.bare {
		// One empty entry means none; and where none is, updates make none.
		patch["metadata"] = map[string]any{"managedFields": []any{map[string]any{}}}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the lease of %q: %w", h.cluster, err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: h.cluster}}
	if err := h.hubClient.Patch(ctx, lease, client.RawPatch(types.MergePatchType, data), client.FieldOwner(contract.FieldManagerAgent)); err != nil {
		return fmt.Errorf("renewing the lease of %q: %w", h.cluster, err)
	}
	h.bare = len(lease.ManagedFields) == 0
	return nil
}
