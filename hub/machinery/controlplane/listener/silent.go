package listener

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
)

// silentMost is the maximum number of connections without a hello. Each takes a file descriptor and some kilobytes.
// Agents that reconnect by the thousand send their hello within one round trip.
const silentMost = 8192

// silentConns are the connections without a hello, up to a limit. Beyond it, the oldest ones of the network with the
// most are closed: whoever opens thousands and sends nothing only keeps out others that do the same.
type silentConns struct {
	most int
	// from has the connections by network, each with a sequence number.
	from  map[netip.Prefix]map[net.Conn]uint64
	count int
	last  uint64
}

// add adds a connection. It returns connections to close in exchange, and their network.
func (s *silentConns) add(conn net.Conn) (ended []net.Conn, of netip.Prefix) {
	if s.count >= s.most {
		ended, of = s.endOldest()
	}
	network := networkOf(conn)
	if s.from[network] == nil {
		s.from[network] = map[net.Conn]uint64{}
	}
	s.last++
	s.from[network][conn] = s.last
	s.count++
	return ended, of
}

// remove removes a connection.
func (s *silentConns) remove(conn net.Conn) {
	network := networkOf(conn)
	if _, is := s.from[network][conn]; !is {
		return
	}
	delete(s.from[network], conn)
	s.count--
	if len(s.from[network]) == 0 {
		delete(s.from, network)
	}
}

// endOldest removes the older half of the network with the most connections: half at once, since searching is
// expensive.
func (s *silentConns) endOldest() (ended []net.Conn, of netip.Prefix) {
	for network, conns := range s.from {
		if len(conns) > len(s.from[of]) {
			of = network
		}
	}
	conns := s.from[of]
	ended = make([]net.Conn, 0, len(conns))
	for conn := range conns {
		ended = append(ended, conn)
	}
	slices.SortFunc(ended, func(a, b net.Conn) int { return cmp.Compare(conns[a], conns[b]) })
	ended = ended[:(len(ended)+1)/2]
	for _, conn := range ended {
		s.remove(conn)
	}
	return ended, of
}

// all returns all connections.
func (s *silentConns) all() (out []net.Conn) {
	for _, conns := range s.from {
		for conn := range conns {
			out = append(out, conn)
		}
	}
	return out
}

// networkOf returns the range of addresses that one customer has: a /64 of IPv6, or a single IPv4 address.
func networkOf(conn net.Conn) netip.Prefix {
	const customer = 64
	at, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // connections without an address are one network
	ip := at.Addr().Unmap().WithZone("")
	network, _ := ip.Prefix(min(customer, ip.BitLen()))
	return network
}
