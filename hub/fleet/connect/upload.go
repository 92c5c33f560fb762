package connect

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"fairlead.dev/hub/fleet/connect/limit"
)

// sendTimeout is how long the body of a request may take to come: until then it holds one of the few places that a line has
// for what is sent to a member. Streams that were upgraded have none, and may be silent.
const sendTimeout = 60 * time.Second

// errUnsent is why a request was cut whose body did not come.
var errUnsent = errors.New("the body of the request did not come in time")

// acquire counts a request until release is called, or says which limit it would exceed.
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

// requestBody is the body of a request as it comes from the API server, as long as that is served.
type requestBody struct {
	control *http.ResponseController

	mu     sync.Mutex
	served bool
}

// cut ends a read of the body that waits: nothing else does, and whoever closes the body of a request of HTTP/1.1 waits for that read.
func (i *requestBody) cut() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.served {
		_ = i.control.SetReadDeadline(time.Unix(1, 0)) // long past; a connection that has ended needs none
	}
}

// end says that the request was served: by then its connection has the next one.
func (i *requestBody) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.served = true
}

// enforceDeadlines ends a request whose body does not come in time, also if it was answered already, and one that is not answered in time after
// its body came.
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

// waitFor waits for something, and says whether it came in time. To a request that has ended nothing comes late.
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
	case <-what: // at the same moment
		return true
	default:
		return false
	}
}
