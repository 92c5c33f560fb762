package hollow

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/test/requests"
)

// Traffic is what all agents have exchanged with the hub since the fleet began.
type Traffic struct {
	requests.Counts

	// Sent and Received are bytes on the wire, including TLS.
	Sent, Received int64
	// Connections is the number of connections opened.
	Connections int64
	// Asked is how often the hub has pinged agents over their lines.
	Asked int64
}

// Traffic returns the traffic so far.
func (f *Fleet) Traffic() Traffic {
	t := &f.traffic
	return Traffic{
		Counts: t.requests.Counts(),
		Sent:   t.sent.Load(), Received: t.received.Load(), Connections: t.connections.Load(), Asked: t.asked.Load(),
	}
}

type traffic struct {
	sent, received, connections, asked atomic.Int64

	requests requests.Counter
}

// connections are the connections of one agent, however it opens them.
type connections struct {
	traffic *traffic

	mu sync.Mutex
	// open is the set of open connections; nil once they were cut.
	open map[*connection]struct{}
}

func newConnections(t *traffic) *connections {
	return &connections{traffic: t, open: map[*connection]struct{}{}}
}

// errCut is the error of dialing after cut.
var errCut = errors.New("the agent is cut off")

// dial connects, and counts the bytes of the connection.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err //nolint:wrapcheck // The client says what it was for.
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		_ = conn.Close() // nothing was sent on it
		return nil, errCut
	}
	c.traffic.connections.Add(1)
	out := &connection{Conn: conn, of: c}
	c.open[out] = struct{}{}
	return out, nil
}

// cut breaks all connections without a TLS close, as a failing network would, and prevents new ones.
func (c *connections) cut() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close() // it is cut all the same
	}
}

// connection counts the bytes that pass through it.
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
