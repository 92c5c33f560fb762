package registration

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
)

// lineHub is a TLS hub that opens lines and echoes.
type lineHub struct {
	*httptest.Server
	// answer, if set, replaces the hub's handler.
	answer http.HandlerFunc
	peers  chan string // the names in the certificates
}

func newLineHub(t *testing.T, answer http.HandlerFunc) *lineHub {
	t.Helper()
	h := &lineHub{answer: answer, peers: make(chan string, 10)}
	h.Server = httptest.NewUnstartedServer(h)
	h.EnableHTTP2 = true // which must not be chosen
	h.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *lineHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.peers <- r.TLS.PeerCertificates[0].Subject.CommonName
	if h.answer != nil {
		h.answer(w, r)
		return
	}
	if r.Method != http.MethodPost || r.Header.Get("Upgrade") != contract.LineProtocol || r.Header.Get("Connection") != "Upgrade" || r.Header.Get("Said") != "this" {
		http.Error(w, r.Method+" is no request for a line", http.StatusBadRequest)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close() //nolint:errcheck // a test
	_, _ = io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+contract.LineProtocol+"\r\nFairlead-Replica: hub-0\r\n\r\nearly")
	_ = rw.Flush()
	_, _ = io.Copy(conn, rw)
}

// attacher returns the credentials of an agent that has joined a hub.
func attacher(t *testing.T, hub *lineHub, connection *rest.Config) *Credentials {
	t.Helper()
	own := newAuthority(t, "own")
	dir := joinedTo(t, hub.URL, hub.Certificate(), own.agent(t), own.key)
	c, err := OpenCredentials(KeepOptions{StateDir: dir, Clock: clock.RealClock{}, Random: func() float64 { return 1 }, Connection: connection})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

func expectEcho(t *testing.T, conn net.Conn) {
	t.Helper()
	g := NewWithT(t)
	defer conn.Close() //nolint:errcheck // a test
	g.Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	_, err := io.WriteString(conn, " and late")
	g.Expect(err).NotTo(HaveOccurred())
	got := make([]byte, len("early and late"))
	_, err = io.ReadFull(conn, got)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal("early and late"))
}

func TestALineIsOpenedAsTheAgent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := newLineHub(t, nil)
	c := attacher(t, hub, nil)
	conn, response, err := c.Attach(t.Context(), "/lines", http.Header{"Said": {"this"}}) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Header.Get("Fairlead-Replica")).To(Equal("hub-0"))
	g.Expect(<-hub.peers).To(Equal(contract.AgentUser("edge-1")))
	expectEcho(t, conn)
	g.Expect(c.interrupted).To(BeEmpty(), "a line that comes and goes says nothing of the hub")
	sent, received := c.Traffic()
	g.Expect(sent).To(BeNumerically(">", 100))
	g.Expect(received).To(BeNumerically(">", 100))
	serial, notAfter := c.Certificate()
	g.Expect(serial).NotTo(BeEmpty())
	g.Expect(notAfter).To(BeTemporally(">", time.Now()))
}

// TestALineIsOpenedThroughAProxyThatKnowsConnectOnly covers the only way out of many networks.
func TestALineIsOpenedThroughAProxyThatKnowsConnectOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := newLineHub(t, nil)
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
			return
		}
		tunnels.Add(1)
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer there.Close() //nolint:errcheck // a test
		w.WriteHeader(http.StatusOK)
		here, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer here.Close() //nolint:errcheck // a test
		go func() {
			_, _ = io.Copy(there, bufio.NewReader(rw))
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	g.Expect(err).NotTo(HaveOccurred())
	c := attacher(t, hub, &rest.Config{Proxy: http.ProxyURL(address)})
	conn, _, err := c.Attach(t.Context(), "/lines", http.Header{"Said": {"this"}}) //nolint:bodyclose // what opened a line has none
	g.Expect(err).NotTo(HaveOccurred())
	expectEcho(t, conn)
	g.Expect(tunnels.Load()).To(BeEquivalentTo(1))
}

func TestALineIsAskedForAtEachAddressOfTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := newLineHub(t, nil)
	c := attacher(t, hub, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	dead := "https://" + l.Addr().String()
	g.Expect(l.Close()).To(Succeed())
	c.servers = newServers(dead, []string{hub.URL})
	conn, _, err := c.Attach(t.Context(), "/lines", http.Header{"Said": {"this"}}) //nolint:bodyclose // what opened a line has none
	g.Expect(err).NotTo(HaveOccurred())
	expectEcho(t, conn)
	g.Expect(c.servers.now()).To(Equal(dead), "it is for other requests to leave a hub")
}

func TestAnswersThatOpenNoLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer     http.HandlerFunc
		status     int
		body, fail string
	}{
		"a refusal": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, strings.Repeat("x", 1<<20), http.StatusServiceUnavailable)
		}, status: http.StatusServiceUnavailable, body: strings.Repeat("x", attachAnswer)},
		"an answer that is none": {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "welcome") }, status: http.StatusOK, body: "welcome"},
		"another protocol": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}, fail: `it changed to "websocket", which is no line`},
		"huge headers": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Huge", strings.Repeat("x", 1<<20))
		}, fail: "exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := attacher(t, newLineHub(t, tc.answer), nil)
			conn, response, err := c.Attach(t.Context(), "/lines", http.Header{})
			if tc.fail != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.fail)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			defer response.Body.Close() //nolint:errcheck // a test
			g.Expect(conn).To(BeNil())
			g.Expect(response.StatusCode).To(Equal(tc.status))
			text, err := io.ReadAll(response.Body)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(Equal(tc.body))
		})
	}
}

// TestALineIsOpenedToTheHubOnly covers a man in the middle with a certificate of its own: it must get neither the
// request nor the line.
func TestALineIsOpenedToTheHubOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub, other := newLineHub(t, nil), newAuthority(t, "other")
	c := attacher(t, hub, nil)
	config := rest.CopyConfig(c.current.config)
	config.CAData = encodeCertificate(other.cert)
	c.current.config = config
	_, _, err := c.Attach(t.Context(), "/lines", http.Header{}) //nolint:bodyclose // there is no answer
	g.Expect(err).To(MatchError(ContainSubstring("certificate")))
	g.Expect(hub.peers).To(BeEmpty())
}
