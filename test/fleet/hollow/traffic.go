package hollow

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Traffic is what all agents have exchanged with the hub since the fleet began.
type Traffic struct {
	// Requests by verb and resource, such as "PATCH works/status", and those of them that the hub turned away, such as "429 leases".
	Requests map[string]int64
	// Refused is how many of them the hub turned away with 429; Conflicts with 409.
	Refused, Conflicts int64
	// Sent and Received are bytes on the wire, with what TLS adds.
	Sent, Received int64
	// Connections is how many they have opened.
	Connections int64
	// Asked is how often the hub has asked over lines how agents are.
	Asked int64
}

// Traffic returns what was exchanged so far.
func (f *Fleet) Traffic() Traffic {
	t := &f.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	return Traffic{
		Requests: maps.Clone(t.requests), Refused: t.refused, Conflicts: t.conflicts,
		Sent: t.sent.Load(), Received: t.received.Load(), Connections: t.connections.Load(), Asked: t.asked.Load(),
	}
}

// traffic counts.
type traffic struct {
	sent, received, connections, asked atomic.Int64

	mu                 sync.Mutex
	requests           map[string]int64
	refused, conflicts int64
}

// counter counts requests.
type counter struct {
	next    http.RoundTripper
	traffic *traffic
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	t := c.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests == nil {
		t.requests = map[string]int64{}
	}
	t.requests[verb(r)+" "+about(r.URL.Path)]++
	if err == nil {
		switch response.StatusCode {
		case http.StatusTooManyRequests:
			t.refused++
			t.requests["429 "+about(r.URL.Path)]++
		case http.StatusConflict:
			t.conflicts++
		}
	}
	return response, err //nolint:wrapcheck // It only counts.
}

func verb(r *http.Request) string {
	switch {
	case r.Method != http.MethodGet:
		return r.Method
	case r.URL.Query().Has("watch"):
		return "WATCH"
	default:
		return "GET"
	}
}

// about returns what a path of the API is about, such as works/status.
func about(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 2 && parts[0] == "apis" {
		parts = parts[3:]
	} else if len(parts) > 1 {
		parts = parts[2:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 0:
		return path
	case 1, 2:
		return parts[0]
	default:
		return parts[0] + "/" + parts[2]
	}
}

// connections are those of an agent, however it opens them.
type connections struct {
	traffic *traffic

	mu sync.Mutex
	// open are all that are; nil once they were cut.
	open map[*connection]struct{}
}

func newConnections(t *traffic) *connections {
	return &connections{traffic: t, open: map[*connection]struct{}{}}
}

// errCut is what comes of connecting afterwards.
var errCut = errors.New("the agent is cut off")

// dial connects as agents do.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err //nolint:wrapcheck // The client says what it was for.
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		_ = conn.Close() // nothing was said on it
		return nil, errCut
	}
	c.traffic.connections.Add(1)
	out := &connection{Conn: conn, of: c}
	c.open[out] = struct{}{}
	return out, nil
}

// cut ends all of them without a goodbye, as when a network fails, and lets no more be opened.
func (c *connections) cut() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close() // then it is cut
	}
}

// connection counts bytes.
type connection struct {
	net.Conn

	of *connections
}

func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.of.traffic.received.Add(int64(n))
	return n, err //nolint:wrapcheck // It only counts.
}

func (c *connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.of.traffic.sent.Add(int64(n))
	return n, err //nolint:wrapcheck // It only counts.
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // It only counts.
}
