package connlimit_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/connlimit"
)

func TestTheLeastRecentlyUsedConnectionGivesWay(t *testing.T) {
	t.Parallel()
	const all, ofOne = 6, 3
	type step struct {
		conn  string // remote address, which identifies the connection by its port
		state http.ConnState
	}
	open := func(conns ...string) (out []step) {
		for _, conn := range conns {
			out = append(out, step{conn, http.StateNew})
		}
		return out
	}
	a, b, c := []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"}, []string{"192.0.2.2:1", "192.0.2.2:2", "192.0.2.2:3"}, "192.0.2.3:1"
	full := append(open(b...), open(a...)...)
	for name, tt := range map[string]struct {
		before []step
		exempt []string
		opened string
		ended  string
	}{
		"there is room": {before: open(a...), opened: c},
		"of one address the oldest gives way where none was used":       {before: open(a...), opened: "192.0.2.1:4", ended: a[0]},
		"one that asked was used":                                       {before: append(open(a...), step{a[0], http.StateActive}), opened: "192.0.2.1:4", ended: a[1]},
		"one that got its answer was used":                              {before: append(open(a...), step{a[0], http.StateIdle}), opened: "192.0.2.1:4", ended: a[1]},
		"one that ended leaves room":                                    {before: append(open(a...), step{a[0], http.StateClosed}), opened: "192.0.2.1:4"},
		"one that was taken over leaves room":                           {before: append(open(a...), step{a[0], http.StateHijacked}), opened: "192.0.2.1:4"},
		"of all addresses the least used one gives way":                 {before: full, opened: c, ended: b[0]},
		"of all addresses one of that which has most":                   {before: append(open(c, "192.0.2.4:1"), append(open(b...), open(a[0])...)...), opened: "192.0.2.5:1", ended: b[0]},
		"one that is exempt leaves room":                                {before: open(a...), exempt: a[:1], opened: "192.0.2.1:4"},
		"one that is exempt stays":                                      {before: append(open(a...), open("192.0.2.1:4")...), exempt: a[:1], opened: "192.0.2.1:5", ended: a[1]},
		"an IPv6 network is one address":                                {before: open("[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::3]:3"), opened: "[2001:db8::4]:4", ended: "[2001:db8::1]:1"},
		"another IPv6 network is another":                               {before: open("[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::3]:3"), opened: "[2001:db8:0:1::4]:4"},
		"an IPv4 address is the same when it is written as one of IPv6": {before: open(a...), opened: "[::ffff:192.0.2.1]:4", ended: a[0]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l := connlimit.LRU{All: all, OfOne: ofOne}
			conns := map[string]*silentConn{}
			for i, s := range append(tt.before, step{tt.opened, http.StateNew}) {
				if s.state == http.StateNew {
					conns[s.conn] = &silentConn{from: s.conn}
				}
				l.Follow(conns[s.conn], s.state)
				if i == 0 {
					for _, conn := range tt.exempt {
						l.Exempt(conns[conn], func() (func(), bool) { return func() {}, true })
					}
				}
			}
			for conn, one := range conns {
				g.Expect(one.closed).To(Equal(conn == tt.ended), conn)
			}
		})
	}
}

func TestTheLastOfManyConnectionsIsServed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const all, ofOne = 64, 8
	l := connlimit.LRU{All: all, OfOne: ofOne}
	var conns []*silentConn
	for i := range 20 * all {
		one := &silentConn{from: fmt.Sprintf("192.0.2.%d:%d", i%100, i+1)}
		conns = append(conns, one)
		l.Follow(one, http.StateNew)
		g.Expect(one.closed).To(BeFalse())
	}
	open := 0
	for _, one := range conns {
		if !one.closed {
			open++
		}
	}
	g.Expect(open).To(Equal(all))
}

// secured is a connection that has TLS over another.
type secured struct {
	silentConn
	below *silentConn
}

func (s *secured) NetConn() net.Conn { return s.below }

func TestNobodyIsToldThatAConnectionIsEnded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := connlimit.LRU{All: 1, OfOne: 1}
	one := &secured{silentConn: silentConn{from: "192.0.2.1:1"}, below: &silentConn{from: "192.0.2.1:1"}}
	l.Follow(one, http.StateNew)
	l.Follow(&silentConn{from: "192.0.2.1:2"}, http.StateNew)
	g.Expect(one.below.closed).To(BeTrue())
	g.Expect(one.closed).To(BeFalse(), "TLS would wait for the other end")
}

func TestAnExemptConnectionHasItsPlaceUntilItEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := connlimit.LRU{All: 2, OfOne: 2}
	entered, left, free := 0, 0, false
	enter := func() (func(), bool) {
		entered++
		return func() { left++ }, free
	}
	one := &silentConn{from: "192.0.2.1:1"}
	l.Follow(one, http.StateNew)
	l.Exempt(one, enter)
	free = true
	l.Exempt(one, enter)
	l.Exempt(one, enter)
	g.Expect(entered).To(Equal(2), "there was no place, then one, and it needs no other")
	g.Expect(left).To(BeZero())
	l.Follow(one, http.StateClosed)
	l.Follow(one, http.StateClosed)
	g.Expect(left).To(Equal(1))
	l.Exempt(one, enter)
	g.Expect(entered).To(Equal(2), "one that has ended would keep a place for ever")
}
