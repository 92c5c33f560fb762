// Package outage signals when a hub that did not answer answers again.
package outage

import (
	"errors"
	"net/http"
	"sync"
)

// Outage tracks whether the hub answers. Callers that back off while it does not wait for Ended as well, since their
// delays grow with the length of the outage. It is safe for concurrent use.
type Outage struct {
	mu    sync.Mutex
	lasts bool
	ended chan struct{}
}

// New returns an Outage that is not in progress.
func New() *Outage { return &Outage{ended: make(chan struct{})} }

// Tell records the result of a request to the hub: nil if it answered.
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

// Ended returns a channel that is closed when the present outage ends, or else the next one.
func (o *Outage) Ended() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// Watch returns a RoundTripper that records the beginning and the end of an outage. A request that timed out, or
// whose answer is an error, says nothing: the hub may be busy.
func (o *Outage) Watch(next http.RoundTripper) http.RoundTripper { return watch{next, o} }

type watch struct {
	next   http.RoundTripper
	outage *Outage
}

// WrappedRoundTripper implements net.RoundTripperWrapper, by which clients find the transport below.
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
