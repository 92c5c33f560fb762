package listener

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

// Only failing tests wait until the timeout; a busy machine takes longer than gomega's default of a second.
func TestMain(m *testing.M) {
	SetDefaultEventuallyTimeout(time.Minute)
	os.Exit(m.Run())
}

// server greets one connection at a time, by way of a queue.
type server struct {
	*queue
	tb   testing.TB
	time *clocktesting.FakeClock
	// given are the connections that the queue passed on.
	given chan net.Conn
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{tb: tb, time: clocktesting.NewFakeClock(time.Now()), given: make(chan net.Conn, 8)}
	s.queue = newQueue(s.time, func(conn net.Conn) bool {
		s.given <- conn
		return true
	})
	s.most = 1
	tb.Cleanup(s.close)
	return s
}

// comes connects a client, and returns its end. It has said nothing yet.
func (s *server) comes() net.Conn {
	s.tb.Helper()
	client, conn := net.Pipe()
	s.tb.Cleanup(func() { _ = client.Close() })
	go s.add(conn)
	return client
}

// says connects a client that sends something, and returns when the queue has noticed.
func (s *server) says(g Gomega, what string) net.Conn {
	s.tb.Helper()
	before, client := s.count(), s.comes()
	_, err := io.WriteString(client, what)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(s.count).Should(Equal(before + 1))
	return client
}

// count returns how many connections are being greeted or waiting.
func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeting + len(s.waiting)
}

// hears returns the next connection, and what its client said.
func (s *server) hears(g Gomega) (net.Conn, string) {
	var conn net.Conn
	g.Eventually(s.given).Should(Receive(&conn))
	said := make([]byte, helloUsual)
	n, err := conn.Read(said)
	g.Expect(err).NotTo(HaveOccurred())
	return conn, string(said[:n])
}

func TestTheLastConnectionIsGreetedFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	for _, what := range []string{"first", "second", "third"} {
		client := s.says(g, what)
		go func() { _, _ = io.Copy(io.Discard, client) }() // the client reads what the server answers
	}

	first, said := s.hears(g)
	g.Expect(said).To(Equal("first"), "nobody else was there")
	g.Consistently(s.given, "50ms").ShouldNot(Receive(), "until that is answered")
	_, err := io.WriteString(first, "welcome")
	g.Expect(err).NotTo(HaveOccurred())

	third, said := s.hears(g)
	g.Expect(said).To(Equal("third"))
	g.Expect(third.Close()).To(Succeed())
	_ = third.Close() // a second close frees no second slot

	second, said := s.hears(g)
	g.Expect(said).To(Equal("second"))
	g.Expect(second.Close()).To(Succeed())
	g.Expect(s.count()).To(BeZero())
}

func TestASlowConnectionKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	s.comes()
	record := s.comes()
	_, err := record.Write([]byte{recordHandshake, 3, 1, 0}) // the rest of the length never arrives
	g.Expect(err).NotTo(HaveOccurred())
	g.Consistently(s.count, "50ms").Should(BeZero(), "they have not said hello")

	half := s.says(g, "half a word")
	conn, said := s.hears(g)
	g.Expect(said).To(Equal("half a word"))
	rest := make(chan string, 1)
	go func() { // the server waits for the rest
		said := make([]byte, helloUsual)
		n, _ := conn.Read(said)
		rest <- string(said[:n])
	}()
	g.Eventually(s.count).Should(BeZero())

	s.says(g, "hello")
	_, said = s.hears(g)
	g.Expect(said).To(Equal("hello"))

	_, err = io.WriteString(half, "and the rest")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(rest).Should(Receive(Equal("and the rest")))
}

// A TLS ClientHello is longer than a packet on most networks.
func TestAHelloInSeveralPacketsCountsOnceItIsWhole(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]int{"within the header": 3, "after the header": recordHeader, "later": 1448} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := newServer(t)
			hello := append([]byte{recordHandshake, 3, 1, 5000 >> 8, 5000 & 0xff}, bytes.Repeat([]byte("h"), 5000)...)
			client := s.comes()
			_, err := client.Write(hello[:cut])
			g.Expect(err).NotTo(HaveOccurred())
			g.Consistently(s.count, "50ms").Should(BeZero())
			_, err = client.Write(hello[cut:])
			g.Expect(err).NotTo(HaveOccurred())
			g.Eventually(s.count).Should(Equal(1))

			var conn net.Conn
			g.Eventually(s.given).Should(Receive(&conn))
			got := make([]byte, len(hello))
			_, err = io.ReadFull(conn, got)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(hello))
			g.Expect(s.count()).To(Equal(1), "the server calculates")
		})
	}
}

func TestTLSIsSpokenThroughTheQueue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	config := certified.Client().Transport.(*http.Transport).TLSClientConfig.Clone() //nolint:forcetypeassert // It is one.
	config.ServerName = "example.com"
	client := tls.Client(s.comes(), config)
	said := make(chan string, 1)
	go func() {
		_, _ = io.WriteString(client, "hello")
		answer := make([]byte, 16)
		n, _ := client.Read(answer)
		said <- string(answer[:n])
	}()
	var conn net.Conn
	g.Eventually(s.given).Should(Receive(&conn))
	g.Expect(s.count()).To(Equal(1))
	server := tls.Server(conn, certified.TLS)
	g.Expect(io.ReadAll(io.LimitReader(server, 5))).To(BeEquivalentTo("hello"))
	g.Expect(s.count()).To(BeZero(), "others are greeted")
	_, err := io.WriteString(server, "welcome")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(said).Should(Receive(Equal("welcome")))
}

func TestAConnectionThatWaitedTooLongIsClosed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	s.says(g, "first")
	old := s.says(g, "second")
	s.time.Step(longestWait + time.Second)
	s.comes().Write([]byte("third")) //nolint:errcheck // It is read below.

	_, err := old.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF), "so that its client comes again")

	conn, _ := s.hears(g)
	g.Expect(conn.Close()).To(Succeed())
	_, said := s.hears(g)
	g.Expect(said).To(Equal("third"))

	waits, silent := s.says(g, "fourth"), s.comes()
	s.close()
	for _, client := range []net.Conn{waits, silent} {
		_, err = client.Read(make([]byte, 1))
		g.Expect(err).To(MatchError(io.EOF), "the server ended")
	}
	_, err = s.comes().Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF), "and takes nobody on")
}

func TestAConnectionThatTheServerRefusesCountsNoMore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	s.hand = func(net.Conn) bool { return false }
	client := s.comes()
	_, err := io.WriteString(client, "hello")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = client.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF))
	g.Expect(s.count()).To(BeZero())
}
