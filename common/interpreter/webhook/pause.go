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
	// firstPause is for how long a webhook is not asked that let a question time out; the pause doubles up to lastPause.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// mostQuestions is how many may wait for the answer of one webhook at a time.
	mostQuestions = idleConnections
)

// pauses keep who asks from waiting, one after the other, for a webhook that hangs: after a question that timed out all others fail
// at once until a pause is over, and then one is asked, upon whose answer all are. It is safe for use by many goroutines.
type pauses struct {
	clock clock.PassiveClock
	slots chan struct{}

	// mu guards what is below.
	mu     sync.Mutex
	length *backoff.ExponentialBackOff
	// why is how the last question failed, if it timed out.
	why   error
	until time.Time
	// probing says that the one question after a pause is under way.
	probing bool
}

func newPauses(c clock.PassiveClock) *pauses {
	return &pauses{
		clock: c, slots: make(chan struct{}, mostQuestions),
		length: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(lastPause),
			backoff.WithMultiplier(2), backoff.WithRandomizationFactor(0), backoff.WithMaxElapsedTime(0)),
	}
}

// ask puts a question, if it may be put now, and waits for those that are under way if they are too many. The error is that of
// the question, or, during a pause, that of the one which timed out.
func (p *pauses) ask(ctx context.Context, question func() (reply []byte, timedOut bool, err error)) ([]byte, error) {
	if err := p.paused(); err != nil {
		return nil, err // before those are waited for that wait
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

// paused returns how the last question failed, if none is to be put now.
func (p *pauses) paused() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refusal()
}

// refusal is the same for who holds mu.
func (p *pauses) refusal() error {
	if p.why != nil && (p.probing || p.clock.Now().Before(p.until)) {
		return p.why
	}
	return nil
}

// begin says whether a question is the one that tells whether a pause is over.
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
	case canceled: // it says nothing of the webhook
	case !timedOut:
		p.why = nil
		p.length.Reset()
	case p.clock.Now().Before(p.until): // of those that were asked together, one begins the pause
	default:
		p.why = err
		p.until = p.clock.Now().Add(p.length.NextBackOff())
	}
}
