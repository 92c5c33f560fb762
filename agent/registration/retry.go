package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"k8s.io/utils/clock"
)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// settling is how long replicas of a hub may not know a new token.
	settling = 3 * time.Second
	// requestTimeout bounds one request.
	requestTimeout = 15 * time.Second
)

// retrier retries until a deadline.
type retrier struct {
	clock    clock.Clock
	deadline time.Time
	progress func(string)
}

// do calls op until it succeeds, fails with an error that is not temporary, or the deadline passes, and returns the
// last result. It reports each new reason for waiting.
func (r *retrier) do(ctx context.Context, op func(context.Context) error) error {
	pauses := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(lastPause),
		backoff.WithMaxElapsedTime(0), backoff.WithClockProvider(r.clock))
	lastReason, began := "", r.clock.Now()
	for {
		err := r.try(ctx, op)
		var temporary temporaryError
		if !errors.As(err, &temporary) {
			return err
		}
		quiet := temporary.expected && r.clock.Since(began) < settling
		if reason := temporary.Error(); reason != lastReason && !quiet {
			lastReason = reason
			r.progress("Trying again: " + reason)
		}
		pause := pauses.NextBackOff()
		if !r.clock.Now().Add(pause).Before(r.deadline) {
			return temporary.error
		}
		if err := r.wait(ctx, pause); err != nil {
			return fmt.Errorf("waiting for the hub: %w", errors.Join(err, temporary.error))
		}
	}
}

func (r *retrier) try(ctx context.Context, op func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return op(ctx)
}

func (r *retrier) wait(ctx context.Context, pause time.Duration) error {
	timer := r.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// whileTokenSpreads returns a function that marks errors as temporary while replicas of the hub may not know a new
// token.
func (r *retrier) whileTokenSpreads() func(error) error {
	until := r.clock.Now().Add(settling)
	return func(err error) error {
		if r.clock.Now().Before(until) {
			return temporaryError{error: err, expected: true}
		}
		return err
	}
}
