package connect

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"fairlead.dev/hub/fleet/connect/limit"
)

// sendTimeout is how long the body of a request may take to arrive: until then it occupies one of the few places for
// uploads that a line has. Upgraded streams have no such limit, and may be idle.
const sendTimeout = 60 * time.Second

// errUnsent is the cause for which a request was ended whose body did not arrive in time.
var errUnsent = errors.New("the body of the request did not come in time")

// acquire counts a request until release is called, or returns the limit that it would exceed.
func (s *Server) acquire(r *http.Request, p proxyRequest) (release func(), exceeded *limit.ExceededError) {
	counter := s.requests
	if p.upgrade != "" || staysOpen(r) {
		counter = s.streams
	}
	first, exceeded := counter.Acquire(p.target.Cluster, p.caller.User)
	if exceeded != nil || p.upgrade == "" && r.ContentLength == 0 {
		return first, exceeded
	}
	second, exceeded := s.uploads.Acquire(p.target.Cluster, p.caller.User)
	if exceeded != nil {
		first()
		return nil, exceeded
	}
	return func() { second(); first() }, nil
}

// requestBody is the incoming body of a request while the request is being served.
type requestBody struct {
	control *http.ResponseController

	mu     sync.Mutex
	served bool
}

// cut interrupts a pending read of the body. There is no other way: closing the body of an HTTP/1.1 request waits for
// that read.
func (i *requestBody) cut() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.served {
		_ = i.control.SetReadDeadline(time.Unix(1, 0)) // any time in the past; a closed connection needs no deadline
	}
}

// end records that the request was served: its connection may carry the next one by now.
func (i *requestBody) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.served = true
}

// enforceDeadlines ends a request whose body does not arrive in time, even if it was already answered, and one whose
// response does not start in time after the body arrived.
func (c *requestTransport) enforceDeadlines(ctx context.Context, sent, answered <-chan struct{}, timeout time.Duration) {
	if !c.waitFor(ctx, sent, sendTimeout) {
		c.passage.cut(errUnsent)
		c.passage.incoming.cut()
		return
	}
	if !c.waitFor(ctx, answered, timeout) {
		c.passage.cut(errSlow)
	}
}

// waitFor waits for an event, and says whether it came in time. If the request has ended, nothing counts as late.
func (c *requestTransport) waitFor(ctx context.Context, what <-chan struct{}, most time.Duration) bool {
	timer := c.server.Clock.NewTimer(most)
	defer timer.Stop()
	select {
	case <-what:
		return true
	case <-ctx.Done():
		return true
	case <-timer.C():
	}
	select {
	case <-what: // it came at the same moment
		return true
	default:
		return false
	}
}
