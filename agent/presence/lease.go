package presence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// firstLeaseRetry is the delay after the first failed renewal. It grows with each failure up to the usual interval.
const firstLeaseRetry = 500 * time.Millisecond

// sessionLength is the length of the random text that tells the agents of one member apart.
const sessionLength = 8

// leaseRenewer renews the member's Lease, which says that the agent is alive, whether or not the member is ready.
type leaseRenewer struct {
	hubClient client.Client
	reader    client.Reader
	cluster   string
	duration  time.Duration
	interval  time.Duration
	clock     clock.Clock
	// session is a random ID that tells the renewals of this process from those of another agent of the same member.
	session string
	// version is the agent's version, for people; empty to leave the annotation out.
	version string
	// trust returns the certificate authorities that the agent trusts; nil to leave the annotations out.
	trust func() Trust
	// refused is the number of annotations, the latest first, that the hub refused, and refusedAt the time of the last refusal.
	refused   int
	refusedAt time.Time
	// seen are the annotations of the Lease when it was last read or written.
	seen map[string]string
	// left is the Lease as this process last wrote it; nil before the first renewal. If the hub shows an older one,
	// the hub was restored from a snapshot: see RestoredError.
	left *coordinationv1.Lease
	// unanswered says that the last renewal timed out; a busy hub may have written it all the same. timeout is that
	// of the next renewal; 0 means the interval.
	unanswered bool
	timeout    time.Duration
	// renewed is called with the result of each renewal; it may be nil.
	renewed func(error)
	// line returns the state of the line, and a channel that is closed when that state has changed.
	line func() (Line, <-chan struct{})
	// outageEnds returns a channel that is closed when the hub answers again.
	outageEnds func() <-chan struct{}
	// resting says that the hub took the line as the heartbeat when the lease was last due; the lease then lasts restEvery longer.
	resting bool
	// heard is called at each interval while the line is the heartbeat; it may be nil.
	heard func()
}

// Start renews the Lease until the context ends, or returns a RestoredError if the hub was restored.
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
			retries.Reset() // the backoff grew while the hub was away; a hub that is back deserves a fresh start
		default:
		}
		line, _ := r.line()
		pace.renewed, pace.opened, r.resting = r.clock.Now(), line.Opened, line.renewsRarely()
		back := r.outageEnds() // taken before the renewal, to catch an outage that ends during it
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
				log.Error(err, "Renewing the lease failed; the agent tries again", "Cluster", r.cluster)
			}
			if r.unanswered {
				back = r.outageEnds() // a renewal that was not answered gets time to land
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

// wait blocks until the lease is due; it returns false when the context ends. Even while renewals are rare, it looks
// for pending annotations and calls heard at the usual interval, and checks every minute that the hub's API answers.
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
				return ctx.Err() == nil // renew now, which reports the failure
			}
			answered = r.clock.Now()
			continue // the check may have found annotations to write
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

// checkHubAnswers reads the Lease to see whether the hub's API answers: an open line says nothing about the
// connection over which Works arrive. A read from the API server's cache is enough. If another agent of this member
// has overwritten the annotations, they become pending here: two agents that claim the same cluster take turns, even
// if one of them has the line.
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

// renewOrConfirm renews the Lease, unless the last renewal, which timed out, turns out to have been written.
//
// The timeout doubles after a renewal that timed out: a hub to which thousands of agents return answers each of them
// late, and later still if they retry often. A dead connection is detected by HTTP/2 pings instead.
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

// confirmLast returns whether the last renewal, which timed out, was written, is recent, and has the content that a
// renewal would have now. A read from the API server's cache is enough.
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

// read reads the Lease at a resourceVersion or later; the latest if version is empty.
func (r *leaseRenewer) read(ctx context.Context, version string) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: contract.ClusterNamespace, Name: r.cluster}
	return lease, r.reader.Get(ctx, key, lease, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: version}})
}

// isOld returns whether a Lease is older than the one that this process wrote last.
func (r *leaseRenewer) isOld(lease *coordinationv1.Lease) bool {
	return r.left != nil && contract.Older(lease.ResourceVersion, r.left.ResourceVersion)
}
