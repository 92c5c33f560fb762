package connlimit

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// LRU counts the connections of a server, and closes the least recently used one when there are too many, not the
// newest: so a client that opens all possible connections and leaves them idle locks nobody out. If the total is
// exceeded, it picks from the network with the most connections. Hijacked connections, of terminals for instance, no
// longer count. Its fields are set before use; it is safe for concurrent use.
type LRU struct {
	// All bounds the total. OfOne bounds the connections from one IPv4 address, or from the IPv6 network of one
	// customer.
	All, OfOne int

	mu    sync.Mutex
	conns map[net.Conn]*use
	// counted is how many connections count, and from how many of those each network has.
	counted int
	from    map[netip.Prefix]int
	// uses numbers the uses of connections.
	uses uint64
}

// use is the state of one connection.
type use struct {
	from netip.Prefix
	// last is the number of its last use.
	last uint64
	// leave frees its place among the exempt ones; nil if it counts.
	leave func()
}

// Follow is a callback for http.Server.ConnState.
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

// Exempt stops counting an open connection if enter finds a place for it. leave is called when the connection ends.
func (l *LRU) Exempt(conn net.Conn, enter func() (leave func(), ok bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.conns[conn]
	if one == nil || one.leave != nil {
		return // it has ended meanwhile, or has a place already
	}
	if leave, ok := enter(); ok {
		one.leave = leave
		l.uncount(one)
	}
}

// add counts a connection, and returns the one to close instead; nil if there is room.
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

// leastUsed returns the least recently used counted connection of the network that has most.
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

// drop removes a connection that has ended or will end, if it is known.
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

// Network returns the network of one customer: the /64 of an IPv6 address, or the IPv4 address itself.
func Network(of netip.Addr) netip.Prefix {
	const customer = 64
	ip := of.Unmap().WithZone("")
	network, _ := ip.Prefix(min(customer, ip.BitLen())) // connections without an address count as one network
	return network
}

// abort closes a connection at once. TLS would notify the peer first, and block if the peer does not read.
func abort(conn net.Conn) {
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close() // there is nobody to report an error to
}
