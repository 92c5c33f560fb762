package line_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/line"
)

// swallowing is a connection that may stop carrying data, as if its cable were cut.
type swallowing struct {
	net.Conn
	cut atomic.Bool
}

func (s *swallowing) Write(p []byte) (int, error) {
	if s.cut.Load() {
		return len(p), nil
	}
	return s.Conn.Write(p)
}

func TestALineThatFallsSilentIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		a, b := net.Pipe()
		hub, agent := &swallowing{Conn: a}, &swallowing{Conn: b}
		e := over(t, hub, agent, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, line.ClientOptions{}, line.ServerOptions{})
		time.Sleep(10 * time.Minute)
		_, text := e.do(t, http.MethodGet, "/", nil)
		g.Expect(text).To(Equal("ok"), "a line may be idle for long")

		hub.cut.Store(true)
		agent.cut.Store(true)
		at := time.Now()
		<-e.client.Done()
		g.Expect(time.Since(at)).To(BeNumerically("<=", 10*time.Second))
		g.Expect(e.client.Err()).To(MatchError(line.ErrSilent))
		_, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil)) //nolint:bodyclose // There is no answer.
		g.Expect(err).To(MatchError(line.ErrSilent))
	})
}

func TestAnAgentNoticesAHubThatFellSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		a, b := net.Pipe()
		hub := &swallowing{Conn: a}
		e := over(t, hub, b, http.NotFound, line.ClientOptions{PingTimeout: time.Hour}, line.ServerOptions{})
		synctest.Wait()
		hub.cut.Store(true)
		at := time.Now()
		g.Expect(<-e.served).To(MatchError(ContainSubstring("the hub did not answer")))
		g.Expect(time.Since(at)).To(BeNumerically("<=", 30*time.Second))
		e.served <- nil
	})
}

func TestAnAgentSaysGoodbye(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, line.ServerOptions{})
	resp, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil))
	g.Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close() //nolint:errcheck // a test
	g.Expect(e.leave()).To(Succeed())
	g.Eventually(e.client.Done()).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(e.client.Err()).To(MatchError(line.ErrGoodbye))
	_, err = io.ReadAll(resp.Body)
	g.Expect(err).To(HaveOccurred(), "what goes on is cut after its grace")
	e.served <- nil
}

func TestALineThatIsReplacedEndsWithItsStreams(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	drain := make(chan struct{})
	e := open(t, echo, line.ServerOptions{Drain: drain})
	s := e.upgrade(t, "/")
	close(drain)
	g.Eventually(e.client.Leaving()).WithTimeout(waitTimeout).Should(BeClosed())
	_, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil)) //nolint:bodyclose // There is no answer.
	g.Expect(err).To(MatchError(line.ErrLeaving))
	_, err = io.WriteString(s, "x")
	g.Expect(err).NotTo(HaveOccurred())
	closeWrite(t, s)
	text, err := io.ReadAll(s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal("xbye"))
	g.Expect(s.Close()).To(Succeed())
	g.Eventually(e.client.Done()).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(e.client.Err()).To(MatchError(line.ErrGoodbye))
	g.Expect(<-e.served).To(Succeed())
	e.served <- nil
}

func TestAHubDrainsOrClosesALine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var renewed atomic.Int32
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/renew" {
			renewed.Add(1)
			return
		}
		echo(w, r)
	}
	e := open(t, h, line.ServerOptions{})
	s := e.upgrade(t, "/")
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		e.client.Drain(context.Background())
	}()
	g.Eventually(e.client.Leaving()).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(renewed.Load()).To(BeEquivalentTo(1))
	_, err := io.WriteString(s, "x")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.client.Done()).NotTo(BeClosed())
	g.Expect(s.Close()).To(Succeed())
	g.Eventually(drained).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(e.client.Err()).To(MatchError(line.ErrClosed))
	g.Expect(<-e.served).To(MatchError(ContainSubstring("the connection ended")))
	e.served <- nil

	f := open(t, h, line.ServerOptions{})
	open := f.upgrade(t, "/")
	g.Expect(f.client.Close()).To(Succeed())
	_, err = io.ReadAll(open)
	g.Expect(err).To(HaveOccurred())
	g.Expect(<-f.served).To(HaveOccurred())
	f.served <- nil
}

func TestALineThatAnotherReplicaReplacedEndsWithItsStreams(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := atomic.Bool{}
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/renew" {
			asked.Store(true)
		}
		echo(w, r)
	}, line.ServerOptions{})
	s := e.upgrade(t, "/")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.client.Retire(t.Context())
	}()
	g.Eventually(e.client.Leaving()).WithTimeout(waitTimeout).Should(BeClosed())
	_, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil)) //nolint:bodyclose // There is no answer.
	g.Expect(err).To(MatchError(line.ErrLeaving))
	g.Expect(e.client.Done()).NotTo(BeClosed())
	_, err = io.WriteString(s, "x")
	g.Expect(err).NotTo(HaveOccurred())
	closeWrite(t, s)
	text, err := io.ReadAll(s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal("xbye"))
	g.Expect(s.Close()).To(Succeed())
	g.Eventually(ended).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(e.client.Err()).To(MatchError(line.ErrReplaced))
	g.Expect(<-e.served).To(HaveOccurred())
	g.Expect(asked.Load()).To(BeFalse(), "it has a newer line")
	e.served <- nil
}

// TestAHostileAgentEndsItsOwnLineOnly has a compromised agent send arbitrary data.
func TestAHostileAgentEndsItsOwnLineOnly(t *testing.T) {
	t.Parallel()
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, c := range map[string]struct{ sends, want string }{
		"http/1":         {"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak HTTP/2"},
		"data first":     {"\x00\x00\x01\x00\x00\x00\x00\x00\x01x", "does not speak HTTP/2"},
		"unknown frames": {settings + strings.Repeat("\x00\x00\x00\x42\x00\x00\x00\x00\x00", 1000), "unknown type 66"},
		"a large frame":  {settings + "\xff\xff\xff\x00\x00\x00\x00\x00\x01", "16384 are the most"},
		"large buffers":  {"\x00\x00\x0c\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x05\x00\xff\xff\xff", "frames of 16777215 bytes"},
		"an error":       {settings + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b", "HTTP/2 error 11"},
		"a push":         {settings + "\x00\x00\x04\x05\x04\x00\x00\x00\x01\x00\x00\x00\x02", "does not keep to HTTP/2"},
		"nothing":        {"", "closed the connection without a goodbye"},
		"a goodbye":      {settings + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "said goodbye"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hub, agent := connected(t)
			client, err := line.NewClient(t.Context(), hub, line.ClientOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			_, _ = io.WriteString(agent, c.sends) // the hub may have ended it before
			_ = agent.(*net.TCPConn).CloseWrite() //nolint:errcheck // it panics if it is none
			g.Eventually(client.Done()).WithTimeout(waitTimeout).Should(BeClosed())
			g.Expect(client.Err()).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestHugeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	huge := strings.Repeat("x", 1<<20)
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/huge" {
			w.Header().Set("Huge", huge)
		}
	}, line.ServerOptions{})
	_, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/huge", nil)) //nolint:bodyclose // There is no answer.
	g.Expect(err).To(HaveOccurred())
	req := e.request(t, http.MethodGet, "/", nil)
	req.Header.Set("Huge", huge)
	resp, err := e.client.RoundTrip(req)
	if err == nil { // the server may answer before
		g.Expect(resp.StatusCode).To(Equal(http.StatusRequestHeaderFieldsTooLarge))
		g.Expect(resp.Body.Close()).To(Succeed())
	}
}

// TestAHostileHub covers a hub that does not speak the protocol, and a stream in a line that is not chunked.
func TestAHostileHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub, agent := connected(t)
	served := make(chan error, 1)
	go func() { served <- line.Serve(t.Context(), agent, http.NotFoundHandler(), line.ServerOptions{}) }()
	_, err := io.WriteString(hub, "GET / HTTP/1.1\r\nHost: agent\r\n\r\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(<-served).To(MatchError(ContainSubstring("does not speak HTTP/2")))

	ended := make(chan error, 1)
	e := open(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			ended <- err
			return
		}
		_, err = io.ReadAll(conn)
		ended <- err
		_ = conn.Close()
	}, line.ServerOptions{})
	req := e.request(t, http.MethodPost, "/", strings.NewReader("\xff\xffless"))
	resp, err := e.client.RoundTrip(req)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Body.Close()).To(Succeed())
	g.Expect(<-ended).To(MatchError(http.ErrNotSupported), "a request that does not upgrade cannot be taken over")
}
