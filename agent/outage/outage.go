// Package outage tells when a hub that did not answer does again.
package outage

import (
	"errors"
	"net/http"
	"sync"
)

// Outage tells when the hub, which did not answer, does again: what waits to ask it need not wait any longer then. Its own pauses are the longer
// the longer the hub was away. Its methods may be called by many goroutines.
type Outage struct {
	mu    sync.Mutex
	lasts bool
	ended chan struct{}
}

// New returns one that does not last.
func New() *Outage { return &Outage{ended: make(chan struct{})} }

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

// Watch returns a RoundTripper by whose answers the outage begins and ends. That a request ran out of time, or was refused, says nothing: the
// hub may be busy.
func (o *Outage) Watch(next http.RoundTripper) http.RoundTripper { return watch{next, o} }

type watch struct {
	next   http.RoundTripper
	outage *Outage
}

// WrappedRoundTripper lets clients find the connections below.
func (w watch) WrappedRoundTripper() http.RoundTripper { return w.next }

// RoundTrip implements http.RoundTripper.
func (w watch) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	switch {
	case err != nil && request.Context().Err() == nil:
		w.outage.Tell(err)
	case err != nil:
	case response.StatusCode >= http.StatusInternalServerError:
		w.outage.Tell(errors.New(response.Status))
	case response.StatusCode < http.StatusBadRequest:
		w.outage.Tell(nil)
	}
	return response, err
}
