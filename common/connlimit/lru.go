package connlimit

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// LRU counts the connections of a server, and when there are too many ends the least recently used one rather than the newest:
// whoever opens all that there may be and lets them rest locks nobody out. With too many of all addresses it is one of the
// network that has most. One that was taken over from the server, as for a terminal, does not count any more. Its fields are set
// before it is used, by many goroutines.
type LRU struct {
	// All bounds those of all addresses. OfOne bounds those of one address, of IPv6 of the network that one customer has.
	All, OfOne int

	mu    sync.Mutex
	conns map[net.Conn]*use
	// counted is how many of them count, from how many of those each network has.
	counted int
	from    map[netip.Prefix]int
	// uses numbers what is done with the connections.
	uses uint64
}

// use is the state of one connection.
type use struct {
	from netip.Prefix
	// last is the number of its last use.
	last uint64
	// leave gives the place back by which it is exempt; nil if it counts.
	leave func()
}

// Follow is for http.Server.ConnState.
func (l *LRU) Follow(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if evicted := l.add(conn); evicted != nil {
			abort(evicted)
		}
	case http.StateActive, http.StateIdle:
		l.touch(conn)
	case http.StateClosed, http.StateHijacked:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.drop(conn)
	}
}

// Exempt has an open connection not count any more if enter finds a place for it. That is left when the connection ends.
func (l *LRU) Exempt(conn net.Conn, enter func() (leave func(), ok bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.conns[conn]
	if one == nil || one.leave != nil {
		return // it ended meanwhile, or has a place
	}
	if leave, ok := enter(); ok {
		one.leave = leave
		l.uncount(one)
	}
}

// add counts a connection, and returns the one that is to be ended for it; nil if there is room.
func (l *LRU) add(conn net.Conn) (evicted net.Conn) {
	from := Network(addressOf(conn))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.from[from] >= l.OfOne:
		evicted = l.leastUsed(func(one *use) bool { return one.from == from })
	case l.counted >= l.All:
		evicted = l.leastUsed(func(*use) bool { return true })
	}
	l.drop(evicted)
	if l.conns == nil {
		l.conns, l.from = map[net.Conn]*use{}, map[netip.Prefix]int{}
	}
	l.uses++
	l.conns[conn] = &use{from: from, last: l.uses}
	l.counted++
	l.from[from]++
	return evicted
}

// leastUsed returns, of those that count, the least recently used one of the network that has most.
func (l *LRU) leastUsed(among func(*use) bool) (found net.Conn) {
	var best *use
	for conn, one := range l.conns {
		if one.leave != nil || !among(one) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(l.from[best.from], l.from[one.from]), cmp.Compare(one.last, best.last)) < 0 {
			found, best = conn, one
		}
	}
	return found
}

func (l *LRU) touch(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.conns[conn]; one != nil {
		l.uses++
		one.last = l.uses
	}
}

// drop forgets a connection that has ended or is to end, if it is known.
func (l *LRU) drop(conn net.Conn) {
	one := l.conns[conn]
	if one == nil {
		return
	}
	delete(l.conns, conn)
	if one.leave != nil {
		one.leave()
		return
	}
	l.uncount(one)
}

func (l *LRU) uncount(one *use) {
	l.counted--
	if l.from[one.from]--; l.from[one.from] == 0 {
		delete(l.from, one.from)
	}
}

// Network returns what one customer has of addresses: of IPv6 the network of one, of IPv4 the address itself.
func Network(of netip.Addr) netip.Prefix {
	const customer = 64
	ip := of.Unmap().WithZone("")
	network, _ := ip.Prefix(min(customer, ip.BitLen())) // what has no address is one network
	return network
}

// abort ends a connection at once. TLS would tell the other end first, and wait for that if it takes nothing.
func abort(conn net.Conn) {
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close() // nobody hears of it
}
