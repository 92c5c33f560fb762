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

// Paced has a controller look at objects again for the sake of writes that nobody waits for, in the order in which they were asked for
// and at a pace: however many there are, the API server gets so many of these writes a second and no more, and only when the
// controller has nothing else to do. It is safe for use by many goroutines.
//
//	Add ──> waiting ──> turn ──> Take: the look at the object writes
type Paced struct {
	clock clock.Clock
	every time.Duration

	mu      sync.Mutex
	waiting []reconcile.Request
	// writes has how many writes a turn is for at the most, of those that wait and of turn.
	writes map[reconcile.Request]int
	// turn is the object whose turn it is; nil between turns.
	turn *reconcile.Request
	// pause is how long the others wait after the turn that was taken last.
	pause time.Duration
	// added and taken wake whoever gives turns.
	added, taken chan struct{}
}

// NewPaced returns a pace of one write in so much time.
func NewPaced(c clock.Clock, every time.Duration) *Paced {
	return &Paced{clock: c, every: every, writes: map[reconcile.Request]int{}, added: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
}

// Add asks for a turn for an object, which is for as many writes. If it has one coming, that is for the greater number.
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

// Take is called at the beginning of every look at an object, and says whether it is its turn, which ends with that.
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

// Source returns the source that makes the controller look at the objects. A turn begins only after the one before was taken, so that turns
// do not pile up if the controller is late.
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

// rest is how long nobody has a turn after the last one.
func (p *Paced) rest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pause
}

// next gives the turn to who waits longest.
func (p *Paced) next() (reconcile.Request, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.waiting = nil // and what it was in
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

// isWoken waits until it is, and says whether there is still something to do.
func isWoken(ctx context.Context, wakes chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-wakes:
		return true
	}
}
