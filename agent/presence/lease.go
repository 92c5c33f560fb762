package presence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// sessionLength is how many characters of randomness tell the agents of one member apart.
const sessionLength = 8

// Trust is which certificate authorities an agent goes by, told by their hashes.
type Trust struct {
	// Authorities are those that it trusts.
	Authorities []string
	// Issuer is the one of its own certificate; empty if that is none of these.
	Issuer string
}

// heart renews the Lease of the member, whether the member is ready or not: it says that
// the agent is alive.
type heart struct {
	hubClient client.Client
	reader    client.Reader
	cluster   string
	duration  time.Duration
	interval  time.Duration
	clock     clock.Clock
	// bare says that the Lease carries no record of who set which field. Without one the
	// answers to 8,640 renewals a day are half as long.
	bare bool
	// session tells this process from others that renew the Lease: two agents take turns in
	// writing theirs.
	session string
	// version of the agent, for people; empty if it is not told, or if the hub does not want
	// to know.
	version string
	// trust says which certificate authorities the agent goes by; nil as version.
	trust func() Trust
	// refused is how much of that, the latest first, the hub did not want to hear.
	refused int
	// seen are the annotations of the Lease when it was last seen.
	seen map[string]string
	// latest is the resourceVersion of the Lease as this process left it; empty before the
	// first renewal. One that is older says that the hub is not where it was: see
	// RestoredError.
	latest string
	// beaten is told what came of each renewal; it may be nil.
	beaten func(error)
}

// Start renews until the context ends, or the hub turns out to be restored.
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
		restored := (*RestoredError)(nil)
		if h.beaten != nil && ctx.Err() == nil {
			h.beaten(err)
		}
		switch {
		case errors.As(err, &restored):
			return err
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
	metadata := map[string]any{}
	if h.latest != "" {
		metadata["resourceVersion"] = h.latest
	}
	if !h.bare {
		// One empty entry means none; and where none is, updates make none.
		metadata["managedFields"] = []any{map[string]any{}}
	}
	telling := h.news()
	if len(telling) > 0 {
		metadata["annotations"] = telling
	}
	if len(metadata) > 0 {
		patch["metadata"] = metadata
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the lease of %q: %w", h.cluster, err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: h.cluster}}
	err = h.hubClient.Patch(ctx, lease, client.RawPatch(types.MergePatchType, data), client.FieldOwner(contract.FieldManagerAgent))
	if apierrors.IsConflict(err) {
		return h.compare(ctx)
	}
	if len(telling) > 0 && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && h.tellLess() {
		return h.beat(ctx)
	}
	if err != nil {
		h.refused = 0 // who answers next may be another hub, or know by then who may do what
		return fmt.Errorf("renewing the lease of %q: %w", h.cluster, err)
	}
	h.latest = lease.ResourceVersion
	h.bare = len(lease.ManagedFields) == 0
	h.seen = lease.Annotations
	return nil
}

// news is what the Lease does not say of the agent yet.
func (h *heart) news() map[string]string {
	told := map[string]string{contract.SessionAnnotation: h.session}
	left := h.refused
	if h.trust != nil && left > 0 {
		left--
	} else if h.trust != nil {
		if trust := h.trust(); len(trust.Authorities) > 0 {
			told[contract.TrustAnnotation] = strings.Join(trust.Authorities, ",")
			told[contract.IssuerAnnotation] = trust.Issuer
		}
	}
	if h.version != "" && left == 0 {
		told[contract.AgentVersionAnnotation] = h.version
	}
	maps.DeleteFunc(told, func(key, value string) bool { return h.seen[key] == value })
	return told
}

// tellLess leaves out what a hub of before these annotations refuses, the latest first: to be
// heard from matters more. It says whether there was anything.
func (h *heart) tellLess() bool {
	var more int
	if h.trust != nil {
		more++
	}
	if h.version != "" {
		more++
	}
	if h.refused >= more {
		return false
	}
	h.refused++
	return true
}

// compare looks at a Lease that is not as this process left it. If somebody else wrote it,
// it is renewed as it is now; if it is older, time went back on the hub.
func (h *heart) compare(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: contract.ClusterNamespace, Name: h.cluster}
	if err := h.reader.Get(ctx, key, lease); err != nil {
		return fmt.Errorf("reading the lease of %q: %w", h.cluster, err)
	}
	left := h.latest
	h.latest = lease.ResourceVersion
	if older(lease.ResourceVersion, left) {
		return &RestoredError{Whose: "hub", Left: left, Found: lease.ResourceVersion}
	}
	return h.beat(ctx)
}
