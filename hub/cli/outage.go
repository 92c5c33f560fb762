package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// outageTimeout is how long a command without --timeout keeps trying to reach the hub.
const outageTimeout = time.Minute

// outage keeps a waiting command going while the hub cannot be reached: a restart of the hub or a lost connection does
// not mean that the awaited state has failed. A hub that has never responded is not waited for, since its address may
// be wrong.
type outage struct {
	env Environment
	// ends is when the command gives up; if zero, each outage may last for outageTimeout.
	ends time.Time
	// answered says that the hub has responded before, and since is when it stopped; zero while it responds.
	answered bool
	since    time.Time
}

// again says whether to try again after a request. It returns an error that is not an outage, or an outage that lasts
// too long.
func (o *outage) again(err error) (bool, error) {
	now := o.env.Clock.Now()
	switch {
	case err == nil:
		if !o.since.IsZero() {
			say(o.env.Err, "The hub answers again, after %s", now.Sub(o.since).Round(time.Second))
		}
		o.answered, o.since = true, time.Time{}
		return false, nil
	case !o.answered, !isOutage(err):
		return false, err
	case o.since.IsZero():
		o.since = now
	}
	ends := o.ends
	if ends.IsZero() {
		ends = o.since.Add(outageTimeout)
	}
	if !now.Before(ends) {
		return false, fmt.Errorf("the hub could not be asked for %s: %w", now.Sub(o.since).Round(time.Second), err)
	}
	if now.Equal(o.since) {
		say(o.env.Err, "The hub cannot be asked now (%v); asking again, for %s at most", err, ends.Sub(now).Round(time.Second))
	}
	return true, nil
}

// repeat calls an idempotent function until the hub can be reached.
func (o *outage) repeat(ctx context.Context, do func() error) error {
	for {
		again, err := o.again(do())
		if !again {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("told to stop while the hub could not be asked: %w", ctx.Err())
		case <-o.env.Clock.After(lookEvery):
		}
	}
}

// isOutage says whether an error comes from the connection to the hub, or from a hub that is busy or stopping, rather
// than being its answer.
func isOutage(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false // the command was cancelled
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	if _, isNetwork := errors.AsType[net.Error](err); isNetwork { // every *url.Error is a net.Error
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsHTTP2ConnectionLost(err)
}
