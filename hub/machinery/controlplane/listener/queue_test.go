package listener

import (
	"io"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

// server is who greets one connection at a time, by a queue.
type server struct {
	*queue
	tb   testing.TB
	time *clocktesting.FakeClock
	// given are the connections that it was given.
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

// comes has a client come, and say something unless that is empty. It returns the client's end.
func (s *server) comes(says string) net.Conn {
	s.tb.Helper()
	client, conn := net.Pipe()
	s.tb.Cleanup(func() { _ = client.Close() })
	added := make(chan struct{})
	go func() {
		defer close(added)
		s.add(conn)
	}()
	if says != "" {
		if _, err := io.WriteString(client, says); err != nil {
			s.tb.Fatal(err)
		}
		<-added
	}
	return client
}

// hears returns what the client of the next connection said.
func (s *server) hears(g Gomega) (net.Conn, string) {
	var conn net.Conn
	g.Eventually(s.given).Should(Receive(&conn))
	said := make([]byte, firstWord)
	n, err := conn.Read(said)
	g.Expect(err).NotTo(HaveOccurred())
	return conn, string(said[:n])
}

func TestWhoCameLastIsGreetedFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	for _, says := range []string{"first", "second", "third"} {
		go func() { _, _ = io.Copy(io.Discard, s.comes(says)) }()
		g.Eventually(func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.greeting + len(s.waiting)
		}).Should(Equal(map[string]int{"first": 1, "second": 2, "third": 3}[says]))
	}

	first, said := s.hears(g)
	g.Expect(said).To(Equal("first"), "nobody else was there")
	g.Consistently(s.given, "50ms").ShouldNot(Receive(), "until that is answered")
	_, err := io.WriteString(first, "welcome")
	g.Expect(err).NotTo(HaveOccurred())

	third, said := s.hears(g)
	g.Expect(said).To(Equal("third"))
	g.Expect(third.Close()).To(Succeed())
	g.Expect(third.Close()).To(Or(Succeed(), MatchError(net.ErrClosed)), "which gives nobody a second turn")

	second, said := s.hears(g)
	g.Expect(said).To(Equal("second"))
	g.Expect(second.Close()).To(Succeed())
	g.Expect(s.greeting).To(BeZero())
}

func TestWhoIsSlowKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	s.comes("")
	half := s.comes("half a word")
	conn, said := s.hears(g)
	g.Expect(said).To(Equal("half a word"))
	rest := make(chan string, 1)
	go func() { // the server waits for the rest
		said := make([]byte, firstWord)
		n, _ := conn.Read(said)
		rest <- string(said[:n])
	}()

	s.comes("hello")
	_, said = s.hears(g)
	g.Expect(said).To(Equal("hello"))

	_, err := io.WriteString(half, "and the rest")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(rest).Should(Receive(Equal("and the rest")))
}

func TestWhoWaitedTooLongIsClosed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	s.comes("first")
	old := s.comes("second")
	s.time.Step(longestWait + time.Second)
	young := s.comes("third")

	_, err := old.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF), "so that its client comes again")

	conn, _ := s.hears(g)
	g.Expect(conn.Close()).To(Succeed())
	_, said := s.hears(g)
	g.Expect(said).To(Equal("third"))

	waits := s.comes("fourth")
	s.close()
	_, err = waits.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF), "the server ended")
	g.Expect(young).NotTo(BeNil())
}
