package setup

import "sync"

// Outage is for whom the hub does not answer to wait until it does, instead of trying again at times of their own, which lie the further apart
// the longer it was away. Its methods may be called by many goroutines.
type Outage struct {
	mu    sync.Mutex
	lasts bool
	ended chan struct{}
}

// NewOutage returns one that does not last.
func NewOutage() *Outage { return &Outage{ended: make(chan struct{})} }

// Tell takes over what came of asking the hub: nil if it answered.
func (o *Outage) Tell(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.lasts = true
		return
	}
	if o.lasts {
		o.lasts = false
		close(o.ended)
		o.ended = make(chan struct{})
	}
}

// Ended returns a channel that is closed when an outage ends: the present one, or else the next.
func (o *Outage) Ended() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}
