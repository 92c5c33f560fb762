package dial

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// InTurn returns a transport, on top of one of net/http, whose requests to one host get their connections one after the other. Where a connection
// cannot be opened, all requests that have waited for it fail with it, rather than that each tries for itself and as long. It may be used
// concurrently.
func InTurn(next http.RoundTripper) http.RoundTripper {
	return &transport{next: next, opening: map[string]*opening{}}
}

// transport implements InTurn.
type transport struct {
	next http.RoundTripper

	mu sync.Mutex
	// opening has, by host, the request that gets its connection.
	opening map[string]*opening
}

// opening is a request from when it asks for a connection until it has one.
type opening struct {
	done chan struct{}
	// err is why there is no connection, for everybody who waits for one. It is read after done was closed.
	err error
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, host := request.Context(), request.URL.Host
	own, err := t.turn(ctx, host)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // as who makes requests may expect of every transport
		}
		return nil, err
	}
	asked, connected := false, false
	end := func(err error) {
		if own != nil {
			t.end(host, own, err)
			own = nil
		}
	}
	defer end(nil)
	response, err := t.next.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			asked = true
			if own != nil {
				return
			}
			// The transport tries again, since the connection that it got was ending. If another request fails to open one, this one
			// tries for itself: nobody waits twice for a host that is silent.
			own, _ = t.turn(ctx, host)
		},
		GotConn: func(httptrace.GotConnInfo) {
			connected = true
			end(nil)
		},
	})))
	if err != nil && asked && !connected {
		err = unconnected(host, err)
	}
	if err != nil && asked && ctx.Err() == nil {
		end(err) // of no meaning to others once there was a connection
	}
	return response, err //nolint:wrapcheck // It stands for the transport.
}

// turn returns when the request may ask for its connection; an error says that there is none.
func (t *transport) turn(ctx context.Context, host string) (*opening, error) {
	for {
		t.mu.Lock()
		other := t.opening[host]
		if other == nil {
			own := &opening{done: make(chan struct{})}
			t.opening[host] = own
			t.mu.Unlock()
			return own, nil
		}
		t.mu.Unlock()
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for a connection to %s that another request opens: %w", host, context.Cause(ctx))
		}
		if other.err != nil {
			return nil, other.err
		}
	}
}

// end lets the next request have its turn.
func (t *transport) end(host string, own *opening, err error) {
	t.mu.Lock()
	delete(t.opening, host)
	t.mu.Unlock()
	own.err = err
	close(own.done)
}

// CloseIdleConnections closes what no request uses.
func (t *transport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(t.next) }
