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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// firstLeaseRetry is the delay after a renewal that failed; it grows from there up to
// the usual interval.
const firstLeaseRetry = 500 * time.Millisecond

// refusedFor is for how long an annotation that the hub refused is left out. A hub that starts may refuse for a moment
// what it knows well, and waits for it afterwards.
const refusedFor = time.Minute

// sessionLength is how many characters of randomness tell the agents of one member apart.
const sessionLength = 8

// Trust is which certificate authorities an agent goes by, told by their hashes.
type Trust struct {
	// Authorities are the hashes of the certificate authorities that the agent trusts.
	Authorities []string
	// Issuer is the one of its own certificate; empty if that is none of these.
	Issuer string
}

// leaseRenewer renews the Lease of the member, whether the member is ready or not: it says that
// the agent is alive.
type leaseRenewer struct {
	hubClient client.Client
	reader    client.Reader
	cluster   string
	duration  time.Duration
	interval  time.Duration
	clock     clock.Clock
	// session tells this process from others that renew the Lease: two agents take turns in
	// writing theirs.
	session string
	// version of the agent, for people; empty if it is not told, or if the hub does not want
	// to know.
	version string
	// trust says which certificate authorities the agent goes by; nil as version.
	trust func() Trust
	// refused is how much of that, the latest first, the hub did not want to hear.
	// refusedAt is when that was last so.
	refused   int
	refusedAt time.Time
	// seen are the annotations of the Lease when it was last seen.
	seen map[string]string
	// left is the Lease as this process left it; nil before the first renewal. One that is older
	// says that the hub is not where it was: see RestoredError.
	left *coordinationv1.Lease
	// unanswered says that no answer came to the last renewal, which a hub that is busy writes all the same, and timeout is how
	// long the next one may take; 0 is the interval.
	unanswered bool
	timeout    time.Duration
	// renewed is told what came of each renewal; it may be nil.
	renewed func(error)
	// line tells of the line, and has a channel that is closed when that has changed.
	line func() (Line, <-chan struct{})
	// outageEnds returns a channel that is closed when the hub answers again.
	outageEnds func() <-chan struct{}
	// resting says that the line was the sign of life when the lease was to be renewed, which its duration tells.
	resting bool
	// heard is told now and then that the line is open which is the sign of life; it may be nil.
	heard func()
}

// Start renews until the context ends, or the hub turns out to be restored.
func (r *leaseRenewer) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("lease")
	retries := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstLeaseRetry),
		backoff.WithMaxInterval(r.interval),
		backoff.WithMaxElapsedTime(0),
		backoff.WithClockProvider(r.clock),
	)
	pace := pace{interval: r.interval, grace: wait.Jitter(lineLostGrace, 2)}
	for r.wait(ctx, pace) {
		select {
		case <-pace.back:
			retries.Reset() // what the pauses grew to while the hub was away says nothing of one that is there
		default:
		}
		line, _ := r.line()
		pace.renewed, pace.opened, r.resting = r.clock.Now(), line.Opened, line.renewsRarely()
		back := r.outageEnds() // of one that ends while this is tried as well
		err := r.renewOrConfirm(ctx, line)
		restored := (*RestoredError)(nil)
		if r.renewed != nil && ctx.Err() == nil {
			r.renewed(err)
		}
		switch {
		case errors.As(err, &restored):
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Told to stop: what the last renewal came to does not matter.
		case err != nil:
			if pace.retry == 0 {
				log.Error(err, "Renewing the lease failed; it is tried until it succeeds", "Cluster", r.cluster)
			}
			if r.unanswered {
				back = r.outageEnds() // a renewal that was not answered is given time to land
			}
			pace.renewed, pace.retry, pace.back = r.clock.Now(), max(retries.NextBackOff(), time.Nanosecond), back
		default:
			retries.Reset()
			if pace.retry > 0 {
				log.Info("Renewing the lease again", "Cluster", r.cluster)
			}
			pace.retry, pace.back = 0, nil
		}
	}
	return nil
}

// wait waits until the lease is to be renewed, and says whether it is: it is not when the context ends. It looks at the
// usual interval, however rarely the lease is renewed: whether there is something to tell, whether the API of the hub
// answers, and to say that it is alive.
func (r *leaseRenewer) wait(ctx context.Context, pace pace) bool {
	answered := pace.renewed
	for ctx.Err() == nil {
		line, changed := r.line()
		left := pace.due(line).Sub(r.clock.Now())
		if left <= 0 || line.renewsRarely() && pace.retry == 0 && len(r.pendingAnnotations()) > 0 {
			return true
		}
		if line.renewsRarely() && r.clock.Since(answered) >= askEvery {
			if err := r.checkHubAnswers(ctx); err != nil {
				return ctx.Err() == nil // and whether it can be renewed is told
			}
			answered = r.clock.Now()
			continue // there may be news now
		}
		if line.renewsRarely() && pace.retry == 0 && r.heard != nil {
			r.heard()
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-pace.back:
			return true
		case <-r.clock.After(min(left, r.interval)):
		}
	}
	return false
}

// checkHubAnswers looks whether the API of the hub answers: that the line is open says nothing of the connection that Works come by.
// What the API server has in memory will do. What another agent wrote to the lease meanwhile is not what this one says of itself,
// so that it has news: two that pass for one cluster take turns, though one of them has the line and rests.
func (r *leaseRenewer) checkHubAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.interval)
	defer cancel()
	lease, err := r.read(ctx, "0")
	if err != nil {
		return err
	}
	if !r.isOld(lease) {
		r.seen = lease.Annotations
	}
	return nil
}

// renewOrConfirm renews once, or finds that a renewal to which no answer came is in the Lease and will do.
//
// A renewal may take longer than one before that was not answered: a hub to which thousands of agents return answers each of them late, and
// the later the more often they ask. A connection that is dead is given up by its pings.
func (r *leaseRenewer) renewOrConfirm(ctx context.Context, line Line) error {
	timeout := max(r.timeout, r.interval)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	landed, err := r.confirmLast(ctx, line)
	if !landed && err == nil {
		err = r.renew(ctx)
	}
	r.timeout = 0
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.timeout = min(2*timeout, r.duration/2)
	}
	return err
}

// confirmLast looks whether a renewal that was not answered is in the Lease, is recent, and says what one would say now. What the API server has
// in memory will do.
func (r *leaseRenewer) confirmLast(ctx context.Context, line Line) (bool, error) {
	if !r.unanswered {
		return false, nil
	}
	lease, err := r.read(ctx, "0")
	if err != nil && ctx.Err() != nil {
		return false, fmt.Errorf("reading the lease of %q, whose renewal was not answered: %w", r.cluster, err)
	}
	r.unanswered = false
	if err != nil || lease.Annotations[contract.SessionAnnotation] != r.session || r.isOld(lease) || lease.Spec.RenewTime == nil {
		return false, nil //nolint:nilerr // The hub answers, so that the lease can be renewed.
	}
	r.left, r.seen = lease, lease.Annotations
	at := lease.Spec.RenewTime.Time
	isRecent := r.clock.Since(at) < r.duration/2 && at.After(line.Opened) && at.After(line.Lost)
	return isRecent && ptr.Deref(lease.Spec.LeaseDurationSeconds, 0) == r.durationSeconds() && len(r.pendingAnnotations()) == 0, nil
}

// durationSeconds is for how long a renewal holds.
func (r *leaseRenewer) durationSeconds() int32 {
	duration := r.duration
	if r.resting {
		duration += restEvery
	}
	return int32(math.Ceil(duration.Seconds()))
}

// read reads the Lease: of a version at least, or the latest if that is empty.
func (r *leaseRenewer) read(ctx context.Context, version string) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: contract.ClusterNamespace, Name: r.cluster}
	return lease, r.reader.Get(ctx, key, lease, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: version}})
}

// isOld says whether a Lease is older than this process left it.
func (r *leaseRenewer) isOld(lease *coordinationv1.Lease) bool {
	return r.left != nil && contract.Older(lease.ResourceVersion, r.left.ResourceVersion)
}

// renew renews once.
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
		r.refused = 0 // who answers next may be another hub, or know by then who may do what
		return fmt.Errorf("renewing the lease of %q: %w", r.cluster, err)
	}
	r.left, r.seen = lease, lease.Annotations
	return nil
}

// write sets the Lease, and returns how it is then. It carries no record of who set which field: one entry that is empty means none,
// and where none is, writes make none. Without it the answers to 8,640 renewals a day are half as long.
func (r *leaseRenewer) write(ctx context.Context, spec coordinationv1.LeaseSpec, annotations map[string]string) (*coordinationv1.Lease, error) {
	if r.left == nil {
		return r.patch(ctx, spec, annotations)
	}
	// A whole Lease takes the API server less than a patch, which it reads as JSON, applies to JSON and reads once more.
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

// patch sets a Lease of which nothing is known yet.
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

// pendingAnnotations returns the annotations that have to change on the Lease.
func (r *leaseRenewer) pendingAnnotations() map[string]string {
	annotations := map[string]string{contract.SessionAnnotation: r.session}
	if r.refused > 0 && r.clock.Since(r.refusedAt) >= refusedFor {
		r.refused = 0
	}
	left := r.refused
	if r.trust != nil && left > 0 {
		left--
	} else if r.trust != nil {
		if trust := r.trust(); len(trust.Authorities) > 0 {
			annotations[contract.TrustAnnotation] = strings.Join(trust.Authorities, ",")
			annotations[contract.IssuerAnnotation] = trust.Issuer
		}
	}
	if r.version != "" && left == 0 {
		annotations[contract.AgentVersionAnnotation] = r.version
	}
	maps.DeleteFunc(annotations, func(key, value string) bool { return r.seen[key] == value })
	return annotations
}

// dropAnnotation leaves out what a hub of before these annotations refuses, the latest first: to be
// heard from matters more. It says whether there was anything.
func (r *leaseRenewer) dropAnnotation() bool {
	var more int
	if r.trust != nil {
		more++
	}
	if r.version != "" {
		more++
	}
	if r.refused >= more {
		return false
	}
	r.refused++
	r.refusedAt = r.clock.Now()
	return true
}

// resolveConflict looks at a Lease that is not as this process left it. If somebody else wrote it,
// it is renewed as it is now; if it is older, time went back on the hub.
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
