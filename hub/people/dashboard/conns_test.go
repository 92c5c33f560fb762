package dashboard

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/auth"
)

// opened is an open connection and the reader of its responses.
type opened struct {
	net.Conn
	answers *bufio.Reader
}

// open connects to a dashboard from an address, and sends no request yet.
func open(t *testing.T, from, to string, c *tls.Config) *opened {
	t.Helper()
	g := NewWithT(t)
	d := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}, Config: c}
	conn, err := d.DialContext(t.Context(), "tcp", to)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	g.Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	return &opened{conn, bufio.NewReader(conn)}
}

// ask requests a static file, and returns why there is no response.
func (o *opened) ask() error {
	if _, err := io.WriteString(o, "GET /static/style.css HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(o.answers, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// browserOf is a signed-in browser; dialed counts the connections it has opened.
func browserOf(t *testing.T, s *Server, address, name string, http2 bool) (load func(path string) int, dialed *atomic.Int32) {
	t.Helper()
	dialed = &atomic.Int32{}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2,
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			dialed.Add(1)
			return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.1")}}).DialContext(ctx, network, to)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	cookie := &http.Cookie{Name: "__Host-fairlead", Value: s.signIn.Sessions.Open(auth.NewUser(name, away{}, s.clock))}
	return func(path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		r.AddCookie(cookie)
		answer, err := transport.RoundTrip(r)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		defer func() { _ = answer.Body.Close() }()
		_, err = io.Copy(io.Discard, answer.Body)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return answer.StatusCode
	}, dialed
}

// noPage is a path without a page: signed-in users get 404, others are redirected to sign in.
const noPage = "/no-such-page"

// endsOf reports which connections the server closes, from now on.
func endsOf(g Gomega, conns []*opened) <-chan int {
	ended := make(chan int, len(conns))
	for i, one := range conns {
		g.Expect(one.SetDeadline(time.Now().Add(2 * time.Minute))).To(Succeed())
		go func() {
			if _, err := one.answers.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
				ended <- i
			}
		}()
	}
	return ended
}

// TestStrangersLockNobodyOut has a client without credentials open as many connections as allowed, from three
// addresses, one of which others share, send a request over each, and leave them idle.
func TestStrangersLockNobodyOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := ofNoHub(t, clock.RealClock{})
	close(s.filled)
	address := listening(t, s)
	loads := map[bool]func(string) int{}
	for _, http2 := range []bool{false, true} {
		load, dialed := browserOf(t, s, address, fmt.Sprintf("anna over HTTP/2 %t", http2), http2)
		g.Expect(load(noPage)).To(Equal(http.StatusNotFound))
		t.Cleanup(func() {
			g.Expect(dialed.Load()).To(BeEquivalentTo(1), "a connection over which a session was shown is kept, HTTP/2 %t", http2)
		})
		loads[http2] = load
	}
	// Hundreds of full handshakes would take long.
	resumed := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	var resting []*opened
	for i := range maxConns {
		one := open(t, fmt.Sprintf("127.0.0.%d", 1+i/maxConnsOfOne), address, resumed)
		g.Expect(one.ask()).To(Succeed(), "connection %d", i)
		resting = append(resting, one)
	}
	ended := endsOf(g, resting)
	// A connection counts as idle only a moment after its response has arrived, so not always before the next one. Any
	// of the first few may therefore be closed first.
	const few = 20
	oneIsEnded := func(first int, why string) {
		t.Helper()
		var i int
		g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(&i), why)
		g.Expect(i).To(And(BeNumerically(">=", first), BeNumerically("<", first+few)), why)
	}
	g.Expect(open(t, "127.0.0.4", address, resumed).ask()).To(Succeed(), "one of a new address")
	oneIsEnded(0, "one of those that rested longest was ended for it")
	for _, of := range []struct {
		first int
		why   string
	}{
		{maxConnsOfOne, "the first took the place of one of an address that had more, since 127.0.0.1 had given one up"},
		{0, "the second took that of one of its own address that rested longest"},
		{0, "so did the third"},
	} {
		g.Expect(open(t, "127.0.0.1", address, resumed).ask()).To(Succeed(), "a new one of an address that has as many as one may have")
		oneIsEnded(of.first, of.why)
	}
	g.Expect(ended).NotTo(Receive(), "no more than came were ended")
	for _, load := range loads {
		g.Expect(load(noPage)).To(Equal(http.StatusNotFound))
	}
	load, _ := browserOf(t, s, address, "bert", true)
	g.Expect(load(noPage)).To(Equal(http.StatusNotFound), "somebody who comes later")
}

// TestAPersonHasSoManyConnectionsForThemselves has one user present a session over more connections than are reserved
// for one user.
func TestAPersonHasSoManyConnectionsForThemselves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := ofNoHub(t, clock.RealClock{})
	close(s.filled)
	address := listening(t, s)
	loads := make([]func(string) int, maxHeldConnsOfOne+1)
	for i := range loads {
		loads[i], _ = browserOf(t, s, address, "anna", false)
		g.Expect(loads[i](noPage)).To(Equal(http.StatusNotFound), "more than that are served like those of strangers")
	}
	_, ok := s.held.Acquire(auth.NewUser("anna", away{}, s.clock))
	g.Expect(ok).To(BeFalse())
	_, ok = s.held.Acquire(auth.NewUser("bert", away{}, s.clock))
	g.Expect(ok).To(BeTrue())
}

// TestNobodyHasAllClustersAsked has one user request the pods of clusters that do not answer.
func TestNobodyHasAllClustersAsked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := ofNoHub(t, clock.RealClock{})
	close(s.filled)
	anna := auth.NewUser("anna", away{}, s.clock)
	var leave func()
	for range maxMemberReadsOfOne {
		var ok bool
		leave, ok = s.memberReads.Acquire(anna)
		g.Expect(ok).To(BeTrue())
	}
	pods := func(u *auth.User) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/applications/shop/web-deployment/pods", nil)
		r.AddCookie(&http.Cookie{Name: "__Host-fairlead", Value: s.signIn.Sessions.Open(u)})
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Code
	}
	g.Expect(pods(anna)).To(Equal(http.StatusTooManyRequests))
	g.Expect(pods(auth.NewUser("bert", away{}, s.clock))).NotTo(Equal(http.StatusTooManyRequests))
	leave()
	for range 3 {
		g.Expect(pods(anna)).NotTo(Equal(http.StatusTooManyRequests), "a page that is made gives its place back")
	}
}
