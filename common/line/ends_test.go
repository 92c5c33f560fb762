package line_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/line"
)

// waitTimeout bounds waiting; nothing here takes that long.
const waitTimeout = time.Minute

// ends are both ends of a line.
type ends struct {
	client *line.Client
	// leave cancels the context of the agent's end, and returns the result of Serve.
	leave  func() error
	served chan error
}

// connected returns two connected ends of TCP.
func connected(tb testing.TB) (hub, agent net.Conn) {
	tb.Helper()
	g := NewWithT(tb)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer l.Close() //nolint:errcheck // a test
	agent, err = net.Dial("tcp", l.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	hub, err = l.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	tb.Cleanup(func() { _, _ = hub.Close(), agent.Close() })
	return hub, agent
}

func open(tb testing.TB, h http.HandlerFunc, so line.ServerOptions) *ends {
	tb.Helper()
	hub, agent := connected(tb)
	return over(tb, hub, agent, h, line.ClientOptions{}, so)
}

func over(tb testing.TB, hub, agent net.Conn, h http.HandlerFunc, co line.ClientOptions, so line.ServerOptions) *ends {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	e := &ends{served: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.served <- line.Serve(ctx, agent, h, so)
	}()
	var err error
	e.client, err = line.NewClient(ctx, hub, co)
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	e.leave = func() error {
		cancel()
		return <-e.served
	}
	tb.Cleanup(func() {
		cancel()
		_ = e.client.Close()
		<-done
	})
	return e
}

func (e *ends) request(tb testing.TB, method, target string, body io.Reader) *http.Request {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), waitTimeout)
	tb.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, "http://member"+target, body)
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	return req
}

// answered is the head of a response.
type answered struct {
	code   int
	header http.Header
}

func (e *ends) do(tb testing.TB, method, target string, body io.Reader) (answered, string) {
	tb.Helper()
	g := NewWithT(tb)
	resp, err := e.client.RoundTrip(e.request(tb, method, target, body))
	g.Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close() //nolint:errcheck // a test
	text, err := io.ReadAll(resp.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return answered{code: resp.StatusCode, header: resp.Header}, string(text)
}

// upgrade opens an upgraded stream.
func (e *ends) upgrade(tb testing.TB, target string) io.ReadWriteCloser {
	tb.Helper()
	g := NewWithT(tb)
	req := e.request(tb, http.MethodGet, target, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo/1")
	resp, err := e.client.RoundTrip(req) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	g.Expect(resp.Header.Get("Upgrade")).To(Equal("echo/1"))
	g.Expect(resp.Header).NotTo(HaveKey("Fairlead-Status"))
	body, ok := resp.Body.(io.ReadWriteCloser)
	g.Expect(ok).To(BeTrue())
	return body
}

func closeWrite(tb testing.TB, c any) {
	tb.Helper()
	half, ok := c.(interface{ CloseWrite() error })
	NewWithT(tb).Expect(ok).To(BeTrue())
	NewWithT(tb).Expect(half.CloseWrite()).To(Succeed())
}

// echo is an HTTP/1.1 handler that hijacks the connection and echoes; after a half-close it sends a last word.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "echo/1" || r.Header.Get("Connection") != "Upgrade" {
		http.Error(w, "upgrade to echo/1", http.StatusUpgradeRequired)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close() //nolint:errcheck // a test
	_, _ = fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\nAsked: %s %s\r\n\r\n", r.Method, r.URL.RequestURI())
	_ = buffered.Flush()
	_, _ = io.Copy(conn, buffered)
	_, _ = io.WriteString(conn, "bye")
	_ = conn.(interface{ CloseWrite() error }).CloseWrite() //nolint:errcheck // it panics if it has none
	_, _ = io.Copy(io.Discard, conn)
}
