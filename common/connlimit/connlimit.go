package connlimit

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// ErrTooMany says that there are too many connections, of all or of one address.
var ErrTooMany = errors.New("there are too many connections")

// Limit counts connections, and ends new ones when there are too many. Its fields are set before it is used, by many goroutines. One
// that was taken over from the server, as for a terminal, does not count any more.
type Limit struct {
	// All bounds those of all addresses, OfOne those of one.
	All, OfOne int
	// Pending says that only those count that have not asked for anything yet.
	Pending bool
	// IsExempt says whether connections from an address are not counted; nil exempts none.
	IsExempt func(netip.Addr) bool

	mu    sync.Mutex
	conns map[net.Conn]netip.Addr
	from  map[netip.Addr]int
}

// Follow is for http.Server.ConnState.
func (l *Limit) Follow(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if l.Add(conn) != nil {
			_ = conn.Close() // nobody hears of it
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

// Remove counts a connection no more.
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

// addressOf is the address of the other end.
func addressOf(conn net.Conn) netip.Addr {
	if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		return at.Addr().Unmap()
	}
	return netip.Addr{}
}
