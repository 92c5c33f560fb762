package connlimit

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// ErrTooMany says that there are too many connections, in total or from one address.
var ErrTooMany = errors.New("there are too many connections")

// Limit counts connections, and closes new ones when there are too many. Hijacked connections, of terminals for
// instance, no longer count. Its fields are set before use; it is safe for concurrent use.
type Limit struct {
	// All bounds the total, OfOne the connections from one address.
	All, OfOne int
	// Pending counts only connections that have not sent a request yet.
	Pending bool
	// IsExempt returns whether connections from an address are not counted; nil exempts none.
	IsExempt func(netip.Addr) bool

	mu    sync.Mutex
	conns map[net.Conn]netip.Addr
	from  map[netip.Addr]int
}

// Follow is a callback for http.Server.ConnState.
func (l *Limit) Follow(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if l.Add(conn) != nil {
			_ = conn.Close() // there is nobody to report an error to
		}
	case http.StateClosed, http.StateHijacked:
		l.Remove(conn)
	case http.StateActive, http.StateIdle:
		if l.Pending {
			l.Remove(conn)
		}
	}
}

// Add counts a connection, or returns ErrTooMany.
func (l *Limit) Add(conn net.Conn) error {
	ip := addressOf(conn)
	if l.IsExempt != nil && l.IsExempt(ip) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) >= l.All || l.from[ip] >= l.OfOne {
		return ErrTooMany
	}
	if l.conns == nil {
		l.conns, l.from = map[net.Conn]netip.Addr{}, map[netip.Addr]int{}
	}
	l.conns[conn] = ip
	l.from[ip]++
	return nil
}

// Remove stops counting a connection.
func (l *Limit) Remove(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ip, is := l.conns[conn]
	if !is {
		return
	}
	delete(l.conns, conn)
	if l.from[ip]--; l.from[ip] == 0 {
		delete(l.from, ip)
	}
}

// addressOf returns the remote address of a connection.
func addressOf(conn net.Conn) netip.Addr {
	if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		return at.Addr().Unmap()
	}
	return netip.Addr{}
}
