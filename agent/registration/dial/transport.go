package dial

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// InTurn returns a transport, on top of one of net/http, that opens connections to the same host one at a time. If a
// connection cannot be opened, all requests that waited for it fail with it, rather than each trying again for just
// as long. It is safe for concurrent use.
func InTurn(next http.RoundTripper) http.RoundTripper {
	return &transport{next: next, opening: map[string]*opening{}}
}

// transport implements InTurn.
type transport struct {
	next http.RoundTripper

	mu sync.Mutex
	// opening maps a host to the request that is opening a connection.
	opening map[string]*opening
}

// opening is a request that is opening a connection.
type opening struct {
	done chan struct{}
	// err is why there is no connection, for all requests that wait. It may be read after done is closed.
	err error
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, host := request.Context(), request.URL.Host
	own, err := t.turn(ctx, host)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // the contract of RoundTripper
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
			// The transport retries, since the connection that it got was closing. If another request fails to
			// connect meanwhile, this one tries by itself: nobody waits twice for a silent host.
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
		end(err) // meaningless for others once there was a connection
	}
	return response, err //nolint:wrapcheck // It stands for the transport.
}

// turn blocks until the request may open its connection; an error says that there is none.
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

// end lets the next request connect.
func (t *transport) end(host string, own *opening, err error) {
	t.mu.Lock()
	delete(t.opening, host)
	t.mu.Unlock()
	own.err = err
	close(own.done)
}

// CloseIdleConnections closes the idle connections of the transport below.
func (t *transport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(t.next) }
