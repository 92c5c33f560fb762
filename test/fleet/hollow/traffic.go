package hollow

import (
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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

// CloseIdleConnections is asked for by clients that end.
func (c *counter) CloseIdleConnections() {
	if closer, ok := c.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
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

// countedConn counts bytes.
type countedConn struct {
	net.Conn

	traffic *traffic
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.received.Add(int64(n))
	return n, err //nolint:wrapcheck // It only counts.
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.sent.Add(int64(n))
	return n, err //nolint:wrapcheck // It only counts.
}
