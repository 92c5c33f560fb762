package connlimit_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/connlimit"
)

// silentConn is a connection that never sends data.
type silentConn struct {
	net.Conn
	from   string
	closed bool
}

func (c *silentConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}

func (c *silentConn) Close() error {
	c.closed = true
	return nil
}

func TestOneAddressIsNoCrowd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	known := netip.MustParseAddr("10.0.0.2")
	const all, ofOne = 64, 8
	l := connlimit.Limit{All: all, OfOne: ofOne, IsExempt: func(ip netip.Addr) bool { return ip == known }}
	first := &silentConn{from: "192.0.2.1:1"}
	g.Expect(l.Add(first)).To(Succeed())
	for range ofOne - 1 {
		g.Expect(l.Add(&silentConn{from: "192.0.2.1:1"})).To(Succeed())
	}
	g.Expect(l.Add(&silentConn{from: "192.0.2.1:1"})).To(MatchError(connlimit.ErrTooMany))
	g.Expect(l.Add(&silentConn{from: "192.0.2.2:1"})).To(Succeed(), "others are let in")
	l.Remove(first)
	l.Remove(first)
	g.Expect(l.Add(first)).To(Succeed())
	g.Expect(l.Add(first)).To(MatchError(connlimit.ErrTooMany))
	in := ofOne + 1
	for i := range 2 * all {
		if l.Add(&silentConn{from: fmt.Sprintf("198.51.100.%d:1", i)}) == nil {
			in++
		}
	}
	g.Expect(in).To(Equal(all))
	g.Expect(l.Add(&silentConn{from: "[::ffff:10.0.0.2]:1"})).To(Succeed(), "one that is exempt is let in through any crowd")
}

func TestWhichConnectionsCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pending bool
		state   http.ConnState
		counts  bool
	}{
		"one that asks":                               {state: http.StateActive, counts: true},
		"one that rests":                              {state: http.StateIdle, counts: true},
		"one that has ended":                          {state: http.StateClosed},
		"one that was taken over":                     {state: http.StateHijacked},
		"one that asks, where those count that wait":  {pending: true, state: http.StateActive},
		"one that waits, where only those that do so": {pending: true, state: http.StateNew, counts: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l := connlimit.Limit{All: 1, OfOne: 1, Pending: c.pending}
			one, other := &silentConn{from: "192.0.2.1:1"}, &silentConn{from: "192.0.2.2:1"}
			l.Follow(one, http.StateNew)
			g.Expect(one.closed).To(BeFalse())
			if c.state != http.StateNew {
				l.Follow(one, c.state)
			}
			l.Follow(other, http.StateNew)
			g.Expect(other.closed).To(Equal(c.counts))
		})
	}
}
