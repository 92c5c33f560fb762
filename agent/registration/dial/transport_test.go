package dial_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/registration/dial"
)

// TestMain raises gomega's timeout of a second, which a busy machine exceeds; only a failing test waits for all of
// it.
func TestMain(m *testing.M) {
	SetDefaultEventuallyTimeout(time.Minute)
	os.Exit(m.Run())
}

// crowd is how many requests begin at once.
const crowd = 8

// server answers when a crowd of requests has come, and counts the connections to it.
type server struct {
	*httptest.Server

	connections, requests atomic.Int32
	all                   chan struct{}
}

func newServer(tb testing.TB, http2 bool) *server {
	tb.Helper()
	s := &server{all: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		if s.requests.Add(1) == crowd {
			close(s.all)
		}
		select {
		case <-s.all:
		case <-request.Context().Done():
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.EnableHTTP2 = http2
	s.StartTLS()
	tb.Cleanup(s.Close)
	return s
}

func (s *server) transport(tb testing.TB) *http.Transport {
	tb.Helper()
	t, ok := s.Client().Transport.(*http.Transport)
	if !ok {
		tb.Fatalf("the client of the server has a transport of %T", s.Client().Transport)
	}
	return t
}

// get makes a crowd of concurrent requests, and returns their errors.
func get(ctx context.Context, t http.RoundTripper, url string) []error {
	out := make([]error, crowd)
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() { out[i] = getOne(ctx, t, url) })
	}
	all.Wait()
	return out
}

func getOne(ctx context.Context, t http.RoundTripper, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := t.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

func TestRequestsThatBeginTogetherShareOneConnection(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t, true)

	g.Expect(get(t.Context(), dial.InTurn(s.transport(t)), s.URL)).To(HaveEach(Succeed()))

	g.Expect(s.connections.Load()).To(BeEquivalentTo(1), "connections for %d requests", crowd)
}

// TestATransportAloneOpensAConnectionForEach checks that net/http alone opens more connections, which is why there
// are turns.
func TestATransportAloneOpensAConnectionForEach(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t, true)
	plain := s.transport(t)
	dials, all := atomic.Int32{}, make(chan struct{})
	plain.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) == crowd {
			close(all)
		}
		select { // until all have asked for one
		case <-all:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}

	g.Expect(get(t.Context(), plain, s.URL)).To(HaveEach(Succeed()))

	g.Expect(dials.Load()).To(BeEquivalentTo(crowd))
}

func TestAConnectionThatWasCutIsOpenedAgainOnce(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t, true)
	shared := dial.InTurn(s.transport(t))
	g.Expect(get(t.Context(), shared, s.URL)).To(HaveEach(Succeed()))

	s.CloseClientConnections()
	g.Eventually(func() error { return getOne(t.Context(), shared, s.URL) }).Should(Succeed()) // until the cut is noticed
	g.Expect(get(t.Context(), shared, s.URL)).To(HaveEach(Succeed()))

	g.Expect(s.connections.Load()).To(BeEquivalentTo(2))
}

// ending is a transport whose reused connection turns out to be closed, so that each request is retried, as by
// net/http. It counts the concurrent retries.
type ending struct{ again, most, now atomic.Int32 }

func (e *ending) RoundTrip(request *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(request.Context())
	trace.GetConn(request.URL.Host)
	trace.GotConn(httptrace.GotConnInfo{Reused: true})
	trace.GetConn(request.URL.Host)
	e.again.Add(1)
	e.most.Store(max(e.most.Load(), e.now.Add(1)))
	synctest.Wait() // all others that can get here have done so
	e.now.Add(-1)
	trace.GotConn(httptrace.GotConnInfo{})
	return &http.Response{Body: http.NoBody}, nil
}

func TestARetryTakesATurnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		e := &ending{}
		g.Expect(get(t.Context(), dial.InTurn(e), "https://hub.example")).To(HaveEach(Succeed()))
		g.Expect(e.again.Load()).To(BeEquivalentTo(crowd))
		g.Expect(e.most.Load()).To(BeEquivalentTo(1), "connecting at a time")
	})
}

// TestEachRequestHasAConnectionWhereOneCarriesOnlyOne checks that requests do not wait for a connection that a watch
// occupies.
func TestEachRequestHasAConnectionWhereOneCarriesOnlyOne(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t, false)

	g.Expect(get(t.Context(), dial.InTurn(s.transport(t)), s.URL)).To(HaveEach(Succeed()))

	g.Expect(s.connections.Load()).To(BeEquivalentTo(crowd))
}

// dialer is asked for connections.
type dialer struct {
	dials atomic.Int32
	fail  chan error
}

func (d *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	d.dials.Add(1)
	select {
	case err, on := <-d.fail:
		if !on {
			err = errors.New("the test is over")
		}
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestWaitingRequestsFailWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		d := &dialer{fail: make(chan error)}
		shared := dial.InTurn(&http.Transport{DialContext: d.dial})
		var failed []error
		go func() { failed = get(t.Context(), shared, "https://hub.example") }()
		synctest.Wait()
		g.Expect(d.dials.Load()).To(BeEquivalentTo(1), "while the first one waits")

		d.fail <- errors.New("the cable is out")
		synctest.Wait()

		g.Expect(failed).To(HaveLen(crowd))
		g.Expect(failed).To(HaveEach(MatchError(ContainSubstring("the cable is out"))))
		g.Expect(d.dials.Load()).To(BeEquivalentTo(1))

		go func() { d.fail <- errors.New("still out") }()
		g.Expect(getOne(t.Context(), shared, "https://hub.example")).To(MatchError(ContainSubstring("still out")), "the next tries anew")
	})
}

func TestACancelledRequestFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		d := &dialer{fail: make(chan error)}
		defer close(d.fail) // a cancelled request leaves its connection to the next one
		shared := dial.InTurn(&http.Transport{DialContext: d.dial})
		outcomes := [3]error{}
		cancels := [3]context.CancelFunc{}
		for i := range outcomes {
			var ctx context.Context
			ctx, cancels[i] = context.WithCancel(t.Context())
			go func() { outcomes[i] = getOne(ctx, shared, "https://hub.example") }()
			synctest.Wait() // so the first one connects, and the others wait
		}

		cancels[1]()
		synctest.Wait()
		g.Expect(outcomes[1]).To(And(MatchError(context.Canceled), MatchError(ContainSubstring("hub.example"))), "who waits")
		g.Expect(outcomes[0]).To(BeNil())

		cancels[0]()
		synctest.Wait()
		g.Expect(outcomes[0]).To(MatchError(context.Canceled), "who connects")
		g.Expect(outcomes[2]).To(BeNil(), "who waited connects now")
		g.Expect(d.dials.Load()).To(BeEquivalentTo(2))

		cancels[2]()
		synctest.Wait()
		g.Expect(outcomes[2]).To(MatchError(context.Canceled))
	})
}

func TestAHostThatHangsHoldsNoOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		hangs := &dialer{fail: make(chan error)}
		defer close(hangs.fail)
		shared := dial.InTurn(&http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "hangs") {
				return hangs.dial(ctx, network, address)
			}
			return nil, errors.New("refused")
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = getOne(ctx, shared, "https://hangs.example") }() // until it is cancelled
		synctest.Wait()

		g.Expect(getOne(t.Context(), shared, "https://other.example")).To(MatchError(ContainSubstring("refused")))

		cancel()
		synctest.Wait()
	})
}
