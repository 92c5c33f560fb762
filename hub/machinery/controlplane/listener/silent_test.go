package listener

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

// from is a connection from an address.
type from struct {
	net.Conn

	address netip.AddrPort
}

func (f from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(f.address) }

// TestTheNetworkWithMostSilentConnectionsLosesOne has somebody of one network come again and again. Those of others stay, and who comes
// is taken on.
func TestTheNetworkWithMostSilentConnectionsLosesOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := silentConns{most: 8, from: map[netip.Prefix]map[net.Conn]uint64{}}
	come := func(address string) (from, []net.Conn, netip.Prefix) {
		conn := from{Conn: &net.TCPConn{}, address: netip.MustParseAddrPort(address)}
		ended, of := s.add(conn)
		return conn, ended, of
	}
	other, _, _ := come("10.0.0.1:1")
	var rest []net.Conn
	for _, address := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		conn, ended, _ := come("[2001:db8::" + address + "]:1")
		g.Expect(ended).To(BeEmpty())
		rest = append(rest, conn)
	}
	_, ended, of := come("10.0.0.2:1")
	g.Expect(ended).To(Equal(rest[:4]), "the older half")
	g.Expect(of.String()).To(Equal("2001:db8::/64"), "which is one customer")
	g.Expect(s.count).To(Equal(5))
	s.remove(other)
	s.remove(rest[0])
	g.Expect(s.count).To(Equal(4))
	g.Expect(s.all()).To(HaveLen(4))
}

// TestAPersonIsServedAmongThousandsThatSayNothing has a stranger exceed the limit of connections at a real port, each
// with the beginning of a long ClientHello.
func TestAPersonIsServedAmongThousandsThatSayNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const most = 64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "welcome") }))
	given := &handed{Listener: server.Listener, conns: make(chan net.Conn), done: make(chan struct{})}
	q := newQueue(clocktesting.NewFakeClock(time.Now()), func(conn net.Conn) bool {
		select {
		case given.conns <- conn:
			return true
		case <-given.done:
			return false
		}
	})
	q.silent.most = most
	public := server.Listener
	server.Listener = given
	server.StartTLS()
	defer server.Close()
	defer q.close()
	go func() {
		for {
			conn, err := public.Accept()
			if err != nil {
				return
			}
			go q.add(conn)
		}
	}()
	came := func() uint64 {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.silent.last
	}
	var strangers []net.Conn
	for range 4 * most {
		conn, err := net.Dial("tcp", public.Addr().String()) //nolint:noctx // It is on this machine.
		g.Expect(err).NotTo(HaveOccurred())
		defer conn.Close() //nolint:errcheck // The client sends nothing more.
		_, _ = conn.Write([]byte{recordHandshake, 3, 1, recordMost >> 8, recordMost & 0xff})
		strangers = append(strangers, conn)
		if len(strangers) == 1 {
			g.Eventually(came).Should(BeEquivalentTo(1), "it is the oldest")
		}
	}
	g.Eventually(came).Should(BeEquivalentTo(len(strangers)), "the person comes last")
	client := server.Client()
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec,forcetypeassert // The test is about admission.
	answer, err := client.Get("https://" + public.Addr().String())                             //nolint:noctx // As above.
	g.Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close() //nolint:errcheck // It was read.
	g.Expect(io.ReadAll(answer.Body)).To(BeEquivalentTo("welcome"))

	g.Eventually(func() int {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.silent.count
	}).Should(And(BeNumerically("<=", most), BeNumerically(">", 0)))
	_, err = strangers[0].Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred(), "the oldest is closed")
	g.Expect(errors.Is(err, net.ErrClosed)).To(BeFalse(), "by the server")
}

// handed is a listener for the connections that a queue passes on.
type handed struct {
	net.Listener

	conns chan net.Conn
	done  chan struct{}
	close sync.Once
}

func (h *handed) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *handed) Close() error {
	h.close.Do(func() { close(h.done) })
	return h.Listener.Close()
}
