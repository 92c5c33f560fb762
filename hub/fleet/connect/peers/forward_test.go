package peers

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
)

func TestForwarding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := &registers{}
	var one, two *replica
	// The member echoes the request, or, once upgraded, the stream until the other end closes its half.
	member := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/back":
			p := httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: two.Transport(one.ID())}
			p.ServeHTTP(w, r)
		case r.Header.Get("Upgrade") != "":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			all, _ := io.ReadAll(conn)
			_, _ = conn.Write(append([]byte("all of "), all...))
		default:
			body, _ := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %s %s %v %s", r.Method, r.URL.EscapedPath(), body, r.Header.Values(contract.GroupHeader), r.Header.Get(contract.HopHeader))
		}
	})
	one, two = start(t, "hub-1", d, nothing()), start(t, "hub-2", d, member)
	hears(t, one, two)
	through := one.Transport(two.ID())

	send := func(path string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://line"+path, strings.NewReader("body"))
		g.Expect(err).NotTo(HaveOccurred())
		req.Header[contract.GroupHeader] = []string{"ops", "dev"}
		resp, err := through.RoundTrip(req)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { g.Expect(resp.Body.Close()).To(Succeed()) }()
		text, err := io.ReadAll(resp.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return resp, string(text)
	}
	path := contract.ClusterProxyPath("edge-1") + "/api/v1/namespaces/a%2Fb"
	_, text := send(path) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(text).To(Equal("POST " + path + " body [ops dev] 1"))
	resp, _ := send("/back") //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(resp.StatusCode).To(Equal(http.StatusLoopDetected), "it was forwarded once")

	// An upgrade, through the ReverseProxy that the hub uses, with one half closed before the other.
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "line"}) }, Transport: through,
	})
	t.Cleanup(front.Close)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", front.Listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /exec HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	g.Expect(err).NotTo(HaveOccurred())
	from := bufio.NewReader(conn)
	answer, err := http.ReadResponse(from, nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	g.Expect(answer.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	go func() {
		_, _ = conn.Write(sent)
		if half, is := conn.(*net.TCPConn); is {
			_ = half.CloseWrite()
		}
	}()
	got, err := io.ReadAll(from)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(got, append([]byte("all of "), sent...))).To(BeTrue(), "%d bytes came back", len(got))
}
