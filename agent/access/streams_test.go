package access

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/line"
)

func TestThereAreLimits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, func(http.ResponseWriter, *http.Request) {})
	s := newServed(t, m)
	var held []*stream
	for range maxRequests {
		one := &stream{}
		g.Expect(s.streams.add(one)).To(BeEmpty())
		held = append(held, one)
	}
	code, body, header := s.ask(t, http.MethodGet, "/api/v1/pods", nil)
	g.Expect(code).To(Equal(http.StatusTooManyRequests))
	g.Expect(body).To(ContainSubstring("100 requests"))
	g.Expect(header.Get("Retry-After")).To(Equal("1"))
	s.streams.remove(held[0])
	code, _, _ = s.ask(t, http.MethodGet, "/api/v1/pods", nil)
	g.Expect(code).To(Equal(http.StatusOK))
}

// echo is a member whose exec echoes its input until EOF.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\nhello ", r.Header.Get("Upgrade"))
	_, _ = io.Copy(conn, buffered)
	_, _ = io.WriteString(conn, " bye")
}

// exec opens a stream and returns the operator's end of it.
func (s *served) exec(t *testing.T) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	g := NewWithT(t)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	g.Expect(conn.SetDeadline(time.Now().Add(waitTimeout))).To(Succeed())
	// Bytes that the client sends before it has read the 101 response must reach the member as well.
	_, err = io.WriteString(conn, "POST /proxy/api/v1/namespaces/shop/pods/web-0/exec?command=sh HTTP/1.1\r\nHost: a\r\nFairlead-User: alice\r\nFairlead-Group: ops\r\n"+
		"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly ")
	g.Expect(err).NotTo(HaveOccurred())
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	return conn.(*net.TCPConn), reader //nolint:errcheck,forcetypeassert // it was dialled so
}

func TestStreamsAreBytesBothWays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServed(t, newMember(t, echo))
	conn, reader := s.exec(t)
	_, err := io.WriteString(conn, "late")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conn.CloseWrite()).To(Succeed()) // half-close: the read side stays open
	g.Expect(io.ReadAll(reader)).To(BeEquivalentTo("hello early late bye"))
	g.Eventually(func() []string { return s.records("changes") }).WithTimeout(waitTimeout).Should(HaveExactElements(
		And(ContainSubstring(`"phase":"begun"`), ContainSubstring(`"object":"pods/exec shop/web-0"`), ContainSubstring(`"query":"command=sh"`)),
		And(ContainSubstring(`"phase":"ended"`), ContainSubstring(`"status":101`), ContainSubstring(`"bytesToMember":10`), ContainSubstring(`"bytesFromMember":20`)),
	))
}

func TestStreamsComeThroughALine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServed(t, newMember(t, echo))
	hub, agent := net.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- line.Serve(ctx, agent, s.Handler, line.ServerOptions{Grace: 10 * time.Millisecond}) }()
	client, err := line.NewClient(t.Context(), hub, line.ClientOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		leave()
		g.Expect(client.Close()).To(Succeed())
		<-ended //nolint:errcheck // How it ended is not what this is about.
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://edge-1/proxy/api/v1/namespaces/shop/pods/web-0/exec?command=sh", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header = http.Header{"Fairlead-User": {"alice"}, "Fairlead-Group": {"ops"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	answer, err := client.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	stream, ok := answer.Body.(interface {
		io.ReadWriteCloser
		CloseWrite() error
	})
	g.Expect(ok).To(BeTrue())
	defer func() { _ = stream.Close() }()
	_, err = io.WriteString(stream, "late")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stream.CloseWrite()).To(Succeed())
	g.Expect(io.ReadAll(stream)).To(BeEquivalentTo("hello late bye"))

	request.Header = http.Header{"Fairlead-User": {"alice"}, "Fairlead-Group": {"dev"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	answer, err = client.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden))
}

func TestAStreamEndsWhenTheOwnerTakesItBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, echo)
	s := newServed(t, m)
	_, reader := s.exec(t)
	s.look(t.Context())
	g.Expect(s.streams.any()).To(BeTrue(), "the rules are the same")
	m.set(map[string]string{"operators": "group:ops"})
	s.clock.Step(lookEvery)
	s.look(t.Context())
	_, err := io.ReadAll(reader)
	g.Expect(err).To(Or(BeNil(), MatchError(ContainSubstring("reset"))), "it did not wait for its deadline")
	g.Eventually(func() []string { return s.records("changes") }).WithTimeout(waitTimeout).Should(ContainElement(ContainSubstring("the owner does not allow it any more")))
}
