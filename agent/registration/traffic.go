package registration

import (
	"context"
	"net"
	"sync/atomic"
)

// traffic counts the bytes sent and received over connections.
type traffic struct{ sent, received atomic.Int64 }

// counted wraps a dial function so that its connections are counted.
func (t *traffic) counted(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn, traffic: t}, nil
	}
}

// countedConn is a connection whose bytes are counted.
type countedConn struct {
	net.Conn
	traffic *traffic
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.traffic.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.traffic.sent.Add(int64(n))
	return n, err
}

// Traffic returns how many bytes were sent to the hub and received from it since the credentials were opened, TLS
// included.
func (c *Credentials) Traffic() (sent, received int64) {
	return c.traffic.sent.Load(), c.traffic.received.Load()
}
