package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"k8s.io/utils/clock"

	"fairlead.dev/common/interpreter"
)

const (
	// firstPause is how long a webhook is not asked after a timeout; it doubles up to lastPause.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// mostQuestions bounds the concurrent questions to one webhook.
	mostQuestions = idleConnections
)

// pauses keep callers from waiting, one after the other, for a webhook that hangs: after a timeout all questions fail
// immediately until a pause is over; then one question probes the webhook, and the others follow if it is answered.
// It is safe for concurrent use.
type pauses struct {
	clock clock.PassiveClock
	slots chan struct{}

	// mu guards the fields below.
	mu     sync.Mutex
	length *backoff.ExponentialBackOff
	// why is the error of the last question if it timed out.
	why   error
	until time.Time
	// probing says that the probe after a pause is in progress.
	probing bool
}

func newPauses(c clock.PassiveClock) *pauses {
	return &pauses{
		clock: c, slots: make(chan struct{}, mostQuestions),
		length: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(lastPause),
			backoff.WithMultiplier(2), backoff.WithRandomizationFactor(0), backoff.WithMaxElapsedTime(0)),
	}
}

// ask makes a request, if that is allowed now, and waits for others in progress if there are too many. The error is
// that of the question or, during a pause, that of the timeout.
func (p *pauses) ask(ctx context.Context, question func() (reply []byte, timedOut bool, err error)) ([]byte, error) {
	if err := p.paused(); err != nil {
		return nil, err // checked before waiting for a slot
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, interpreter.Unanswered(ctx.Err())
	}
	probe, err := p.begin()
	if err != nil {
		return nil, err
	}
	reply, timedOut, err := question()
	p.end(probe, timedOut, err, ctx.Err() != nil)
	return reply, err
}

// paused returns the error of the last question if none may be asked now.
func (p *pauses) paused() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refusal()
}

// refusal is paused for callers that hold mu.
func (p *pauses) refusal() error {
	if p.why != nil && (p.probing || p.clock.Now().Before(p.until)) {
		return p.why
	}
	return nil
}

// begin returns whether a question is the probe after a pause.
func (p *pauses) begin() (probe bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refusal(); err != nil {
		return false, err
	}
	p.probing = p.why != nil
	return p.probing, nil
}

func (p *pauses) end(probe, timedOut bool, err error, canceled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if probe {
		p.probing = false
	}
	switch {
	case canceled: // says nothing about the webhook
	case !timedOut:
		p.why = nil
		p.length.Reset()
	case p.clock.Now().Before(p.until): // of concurrent timeouts, only the first begins a pause
	default:
		p.why = err
		p.until = p.clock.Now().Add(p.length.NextBackOff())
	}
}
