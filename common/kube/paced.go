package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Paced makes a controller reconcile objects for the sake of writes that are not urgent, in the order in which they
// were requested and at a limited rate: however many there are, the API server gets only so many of these writes per
// second, and only when the controller has nothing else to do. It is safe for concurrent use.
//
//	Add ──> waiting ──> turn ──> Take: the reconcile writes
type Paced struct {
	clock clock.Clock
	every time.Duration

	mu      sync.Mutex
	waiting []reconcile.Request
	// writes is the maximum number of writes per turn, for the waiting requests and for turn.
	writes map[reconcile.Request]int
	// turn is the object that has its turn; nil between turns.
	turn *reconcile.Request
	// pause is how long the others wait after the last turn.
	pause time.Duration
	// added and taken wake the goroutine that gives turns.
	added, taken chan struct{}
}

// NewPaced returns a Paced with one write per interval.
func NewPaced(c clock.Clock, every time.Duration) *Paced {
	return &Paced{clock: c, every: every, writes: map[reconcile.Request]int{}, added: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
}

// Add requests a turn for an object, for this number of writes. If a turn is pending, it gets the larger number.
func (p *Paced) Add(req reconcile.Request, writes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.writes[req]
	p.writes[req] = max(before, writes)
	if !known {
		p.waiting = append(p.waiting, req)
		wake(p.added)
	}
}

// Take is called at the beginning of every reconcile of an object, and returns whether it has its turn, which then
// ends.
func (p *Paced) Take(req reconcile.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == nil || *p.turn != req {
		return false
	}
	p.turn = nil
	p.pause = time.Duration(p.writes[req]) * p.every
	delete(p.writes, req)
	wake(p.taken)
	return true
}

// Source returns the source that enqueues the objects. A turn begins only after the previous one was taken, so that
// turns do not pile up if the controller is late.
func (p *Paced) Source() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go p.run(ctx, q)
		return nil
	})
}

func (p *Paced) run(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for {
		next, ok := p.next()
		if !ok {
			if !isWoken(ctx, p.added) {
				return
			}
			continue
		}
		EnqueueLast(q, next)
		if !isWoken(ctx, p.taken) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-p.clock.After(p.rest()):
		}
	}
}

// rest returns the pause after the last turn.
func (p *Paced) rest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pause
}

// next gives the turn to the object that has waited longest.
func (p *Paced) next() (reconcile.Request, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.waiting = nil // release the backing array
		return reconcile.Request{}, false
	}
	next := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.turn = &next
	return next, true
}

func wake(who chan struct{}) {
	select {
	case who <- struct{}{}:
	default:
	}
}

// isWoken blocks until it is woken; it returns false if the context ends.
func isWoken(ctx context.Context, wakes chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-wakes:
		return true
	}
}
