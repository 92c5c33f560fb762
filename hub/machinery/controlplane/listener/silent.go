package listener

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
)

// silentMost is how many connections there may be whose clients have not said hello. Each is a file, and some kilobytes; agents that come
// back by thousands say it within the time of a packet to them and back.
const silentMost = 8192

// silentConns are connections whose clients have not said hello, at most so many. Where there are too many it is those of the network that has
// most of them which end, the oldest first: whoever opens thousands and says nothing keeps out only those that do the same.
type silentConns struct {
	most int
	// from has the connections of each network, with the number of each in the order in which they came.
	from  map[netip.Prefix]map[net.Conn]uint64
	count int
	last  uint64
}

// add takes a connection on. It returns those that are to be closed for it, and the network that they are of.
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

// remove forgets a connection.
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

// endOldest forgets the older ones of the network that has most, half of them at once: looking for them costs something.
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

// all returns the connections.
func (s *silentConns) all() (out []net.Conn) {
	for _, conns := range s.from {
		for conn := range conns {
			out = append(out, conn)
		}
	}
	return out
}

// networkOf returns what one customer has of addresses: of IPv6 the network of one, of IPv4 the address itself.
func networkOf(conn net.Conn) netip.Prefix {
	const customer = 64
	at, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // what has no address is one network
	ip := at.Addr().Unmap().WithZone("")
	network, _ := ip.Prefix(min(customer, ip.BitLen()))
	return network
}
