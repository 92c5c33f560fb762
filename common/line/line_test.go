package line_test

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/line"
)

func TestRequestsPassAsTheyCame(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Connection", "close") // must not end the line
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s %s %s %q %q", r.Method, r.RequestURI, body, r.Header.Get("Fairlead-User"), r.Header["Fairlead-Method"])
	}, line.ServerOptions{})
	for range 3 {
		req := e.request(t, http.MethodPatch, "/proxy/api/v1/a%2Fb?x=1;2&y", strings.NewReader("body"))
		req.Header.Set("Fairlead-User", "alice")
		req.Header.Set("Fairlead-Method", "GET")
		resp, err := e.client.RoundTrip(req)
		g.Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(resp.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(resp.Body.Close()).To(Succeed())
		g.Expect(resp.StatusCode).To(Equal(http.StatusTeapot))
		g.Expect(string(text)).To(Equal(`PATCH /proxy/api/v1/a%2Fb?x=1;2&y body "alice" []`))
	}
	g.Expect(e.client.Streams()).To(BeZero())
	g.Expect(e.client.Err()).NotTo(HaveOccurred())
}

func TestAnswersStreamAndEndWithWhoAsked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gone := make(chan struct{})
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		_, _ = io.WriteString(w, "one\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, line.ServerOptions{})
	resp, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil))
	g.Expect(err).NotTo(HaveOccurred())
	first, err := bufio.NewReader(resp.Body).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first).To(Equal("one\n"))
	g.Expect(e.client.Streams()).To(Equal(1))
	g.Expect(resp.Body.Close()).To(Succeed())
	g.Eventually(gone).WithTimeout(waitTimeout).Should(BeClosed())
}

func TestUpgradesAreByteStreamsWithHalfCloses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := open(t, echo, line.ServerOptions{})
	s := e.upgrade(t, "/exec?command=sh")
	_, err := io.WriteString(s, "hello ")
	g.Expect(err).NotTo(HaveOccurred())
	got := make([]byte, 6)
	_, err = io.ReadFull(s, got)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal("hello "))
	closeWrite(t, s)
	_, err = io.WriteString(s, "more")
	g.Expect(err).To(HaveOccurred())
	rest, err := io.ReadAll(s)
	g.Expect(err).NotTo(HaveOccurred(), "the other end closed its half too")
	g.Expect(string(rest)).To(Equal("bye"))
	g.Expect(s.Close()).To(Succeed())
	g.Eventually(e.client.Streams).WithTimeout(waitTimeout).Should(BeZero())

	said, text := e.do(t, http.MethodGet, "/exec", nil)
	g.Expect(said.code).To(Equal(http.StatusUpgradeRequired))
	g.Expect(text).To(ContainSubstring("upgrade to echo/1"))
	refused := e.request(t, http.MethodGet, "/exec", nil)
	refused.Header.Set("Connection", "keep-alive, Upgrade")
	refused.Header.Set("Upgrade", "other")
	resp, err := e.client.RoundTrip(refused)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.StatusCode).To(Equal(http.StatusUpgradeRequired), "any other status is an ordinary answer")
	g.Expect(resp.Body.Close()).To(Succeed())
}

// TestProxiesAtBothEndsCarryAHundredMegabytes has a reverse proxy at both ends, as hub and agent have, which knows
// nothing of lines.
func TestProxiesAtBothEndsCarryAHundredMegabytes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(member.Close)
	target, err := url.Parse(member.URL)
	g.Expect(err).NotTo(HaveOccurred())
	e := open(t, httputil.NewSingleHostReverseProxy(target).ServeHTTP, line.ServerOptions{})
	back := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "line"})
	back.Transport = e.client
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { back.ServeHTTP(line.Early(w), r) }))
	t.Cleanup(hub.Close)

	conn, err := net.Dial("tcp", hub.Listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close() //nolint:errcheck // a test
	_, err = io.WriteString(conn, "POST /cp HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\nContent-Length: 0\r\n\r\nearly ")
	g.Expect(err).NotTo(HaveOccurred())
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil) //nolint:bodyclose // What follows 101 is no body.
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	g.Expect(resp.Header.Get("Asked")).To(Equal("POST /cp"), "as kubectl upgrades to SPDY")

	const size = 100 << 20
	sent := sha256.New()
	failed := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.MultiWriter(conn, sent), io.LimitReader(rand.New(rand.NewSource(1)), size))
		failed <- errors.Join(err, conn.(*net.TCPConn).CloseWrite()) //nolint:errcheck // it panics if it is none
	}()
	early := make([]byte, 6)
	_, err = io.ReadFull(reader, early)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(early)).To(Equal("early "))
	got := sha256.New()
	_, err = io.CopyN(got, reader, size)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(<-failed).To(Succeed())
	g.Expect(got.Sum(nil)).To(Equal(sent.Sum(nil)))
	rest, err := io.ReadAll(reader)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(rest)).To(Equal("bye"))
}

func TestAReaderThatStallsStopsItsOwnStreamOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
			return
		}
		for r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 64<<10))
		}
	}, line.ServerOptions{})
	for range 40 { // together far more than the usual window of a connection
		resp, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/endless", nil))
		g.Expect(err).NotTo(HaveOccurred())
		defer resp.Body.Close() //nolint:errcheck // a test
	}
	for range 20 {
		_, text := e.do(t, http.MethodGet, "/short", nil)
		g.Expect(text).To(HaveLen(100_000))
	}

	// The other direction: as many unread uploads as a line carries.
	f := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stall" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.Copy(w, r.Body)
	}, line.ServerOptions{})
	endless := func() io.Reader { return io.LimitReader(rand.New(rand.NewSource(2)), 1<<30) }
	for range line.MaxUploads - 1 {
		resp, err := f.client.RoundTrip(f.request(t, http.MethodPost, "/stall", endless()))
		g.Expect(err).NotTo(HaveOccurred())
		defer resp.Body.Close() //nolint:errcheck // a test
	}
	for range 3 {
		_, text := f.do(t, http.MethodPost, "/echo", strings.NewReader(strings.Repeat("y", 100_000)))
		g.Expect(text).To(HaveLen(100_000))
	}
	resp, err := f.client.RoundTrip(f.request(t, http.MethodPost, "/stall", endless()))
	g.Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close() //nolint:errcheck // a test
	over, text := f.do(t, http.MethodPost, "/echo", strings.NewReader("z"))
	g.Expect(over.code).To(Equal(http.StatusTooManyRequests))
	g.Expect(over.header.Get("Retry-After")).To(Equal("1"))
	g.Expect(text).To(ContainSubstring("30 requests with a body"))
}

func TestALineThatIsFullSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, line.ServerOptions{})
	var last *http.Response
	for range line.MaxStreams {
		resp, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil))
		g.Expect(err).NotTo(HaveOccurred())
		defer resp.Body.Close() //nolint:errcheck // a test
		last = resp
	}
	_, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil)) //nolint:bodyclose // There is no answer.
	g.Expect(err).To(MatchError(line.ErrFull))
	g.Expect(last.Body.Close()).To(Succeed())
	g.Eventually(func() error {
		resp, err := e.client.RoundTrip(e.request(t, http.MethodGet, "/", nil))
		if err == nil {
			t.Cleanup(func() { _ = resp.Body.Close() })
		}
		return err
	}).WithTimeout(waitTimeout).Should(Succeed())
}
