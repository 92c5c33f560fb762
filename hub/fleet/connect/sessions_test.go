package connect

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers"
)

// site is a replica of a hub, without an API server in front.
type site struct {
	*Server

	w     *world
	peers *peers.Peers
	front *httptest.Server
}

// leftBehind are Leases of replicas that are not deleted in time.
type leftBehind struct{ peers.Directory }

func (leftBehind) Remove(context.Context, peers.Record) error {
	return errors.New("the API server is away")
}

func newSite(w *world, name string, directory peers.Directory) *site {
	w.t.Helper()
	s := &site{w: w}
	deps := w.server.Deps
	deps.Lines, deps.Registry = lines.New(), prometheus.NewRegistry()
	var err error
	s.peers, err = peers.New(peers.Options{
		Host: name, BindAddress: "127.0.0.1:0", Directory: directory, Lines: deps.Lines, Elected: make(chan struct{}), Clock: clock.RealClock{},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServePeer(w, r) }),
	})
	w.g.Expect(err).NotTo(HaveOccurred())
	deps.Peers, deps.Replica = s.peers, s.peers.ID()
	s.Server, err = New(deps)
	w.g.Expect(err).NotTo(HaveOccurred())
	s.front = httptest.NewServer(s.Server)
	w.t.Cleanup(s.front.Close)
	return s
}

// meet lets the replica find others, until stop is called.
func (s *site) meet() (stop func()) {
	ctx, cancel := context.WithCancel(s.w.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.peers.Start(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			s.w.g.Eventually(done, waitTimeout).Should(Receive(BeNil()))
		}
	}
	s.w.t.Cleanup(stop)
	return stop
}

// attach requests a line from the replica, and serves it with a handler if there is one.
func (s *site) attach(cluster, session string, handler http.Handler) (resp *http.Response, ended chan error) {
	s.w.t.Helper()
	g := s.w.g
	conn, err := (&net.Dialer{}).DialContext(s.w.t.Context(), "tcp", s.front.Listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	s.w.t.Cleanup(func() { _ = conn.Close() })
	g.Expect(conn.SetDeadline(time.Now().Add(waitTimeout))).To(Succeed())
	req, err := http.NewRequestWithContext(s.w.t.Context(), http.MethodPost, "http://hub"+contract.LineAttachPath(cluster), http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	req.Header = http.Header{
		"X-Remote-User": {contract.AgentUser(cluster)}, "X-Remote-Group": {contract.JoinGroup("join-of-" + cluster)},
		"Connection": {"Upgrade"}, "Upgrade": {contract.LineProtocol}, contract.LineSessionHeader: {session},
	}
	g.Expect(req.Write(conn)).To(Succeed())
	reader := bufio.NewReader(conn)
	resp, err = http.ReadResponse(reader, req)
	g.Expect(err).NotTo(HaveOccurred())
	ended = make(chan error, 1)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		return resp, ended
	}
	g.Expect(conn.SetDeadline(time.Time{})).To(Succeed())
	ctx, cancel := context.WithCancel(s.w.t.Context())
	s.w.t.Cleanup(cancel)
	go func() {
		ended <- line.Serve(ctx, line.Buffered(conn, reader), handler, line.ServerOptions{})
	}()
	g.Eventually(func() bool { return s.isUp(cluster) }, waitTimeout, "20ms").Should(BeTrue())
	return resp, ended
}

func (s *site) isUp(cluster string) bool {
	state, _ := s.Lines.State(cluster)
	return state.Up
}

// knows waits until a replica has heard of another replica's line of a cluster.
func (s *site) knows(other *site, cluster string) {
	s.w.t.Helper()
	s.w.g.Eventually(func() string { return s.peers.Sessions(cluster)[other.peers.ID()] }, waitTimeout, "20ms").ShouldNot(BeEmpty())
}

// answers is an agent that answers health checks with a status.
func answers(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// hangs is an agent that answers nothing but pings.
func hangs(t *testing.T) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-t.Context().Done():
		}
	})
}

// TestSeveralAgentsAtSeveralReplicas has two agents with one certificate at two replicas of a hub.
func TestSeveralAgentsAtSeveralReplicas(t *testing.T) {
	w := newWorld(t)
	g := w.g
	directory := w.directory()
	one, two := newSite(w, "hub-1", leftBehind{directory}), newSite(w, "hub-2", directory)
	early, late := "s1", "s2" // in the order of their hashes
	if sessionOf(http.Header{contract.LineSessionHeader: {early}}) > sessionOf(http.Header{contract.LineSessionHeader: {late}}) {
		early, late = late, early
	}
	well := answers(http.StatusOK)
	for _, cluster := range []string{"edge-first", "edge-second", "edge-well", "edge-hangs", "edge-moves", "edge-cut"} {
		w.join(cluster)
	}

	// Each gets a line while the replicas do not know each other. Once they do, the first session keeps it, whichever
	// replica asks.
	for cluster, sessions := range map[string][2]string{"edge-first": {early, late}, "edge-second": {late, early}} {
		_, _ = one.attach(cluster, sessions[0], well) //nolint:bodyclose // It has none.
		one.Lines.Newest(cluster).Opened = time.Now().Add(-time.Minute)
		_, _ = two.attach(cluster, sessions[1], well) //nolint:bodyclose // as above
	}
	stop := one.meet()
	two.meet()
	for _, cluster := range []string{"edge-first", "edge-second"} {
		g.Eventually(func() bool { return two.isUp(cluster) }, waitTimeout, "20ms").Should(BeFalse())
		g.Expect(one.isUp(cluster)).To(BeTrue())
	}

	// An agent that reports itself unhealthy is still present.
	_, _ = one.attach("edge-well", "s1", answers(http.StatusServiceUnavailable)) //nolint:bodyclose // as above
	two.knows(one, "edge-well")
	for _, replica := range []*site{one, two} {
		resp, _ := replica.attach("edge-well", "s2", well) //nolint:bodyclose // It is closed.
		g.Expect(resp.StatusCode).To(Equal(http.StatusConflict))
		resp, _ = replica.attach("edge-well", "", well) //nolint:bodyclose // as above
		g.Expect(resp.StatusCode).To(Equal(http.StatusConflict), "nor does one that says no session")
	}
	g.Expect(one.isUp("edge-well")).To(BeTrue())
	g.Expect(two.isUp("edge-well")).To(BeFalse())

	// An agent that answers pings only is not.
	_, ended := one.attach("edge-hangs", "s1", hangs(t)) //nolint:bodyclose // as above
	two.knows(one, "edge-hangs")
	resp, _ := two.attach("edge-hangs", "s2", well) //nolint:bodyclose // as above
	g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	g.Eventually(ended, waitTimeout).Should(Receive())
	g.Eventually(func() bool { return one.isUp("edge-hangs") }, waitTimeout, "20ms").Should(BeFalse())

	// The same agent may reconnect to another replica; its old line is replaced, not lost.
	_, ended = one.attach("edge-moves", "s1", well) //nolint:bodyclose // as above
	one.Lines.Newest("edge-moves").Opened = time.Now().Add(-time.Minute)
	two.knows(one, "edge-moves")
	resp, _ = two.attach("edge-moves", "s1", well) //nolint:bodyclose // as above
	g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	g.Eventually(ended, waitTimeout).Should(Receive())
	g.Eventually(func() bool { state, _ := one.Lines.State("edge-moves"); return !state.Up && state.Goodbye }, waitTimeout, "20ms").Should(BeTrue())
	g.Expect(two.isUp("edge-moves")).To(BeTrue())

	// A replica that cannot be reached may still have the line, for a while.
	_, _ = one.attach("edge-cut", "s1", well) //nolint:bodyclose // as above
	two.knows(one, "edge-cut")
	stop()
	resp, _ = two.attach("edge-cut", "s2", well) //nolint:bodyclose // as above
	g.Expect(resp.StatusCode).To(Equal(http.StatusServiceUnavailable))
	g.Expect(resp.Header.Get("Retry-After")).NotTo(BeEmpty())
	g.Eventually(func() int { // retries are rate limited
		resp, _ := two.attach("edge-cut", "s2", well) //nolint:bodyclose // as above
		return resp.StatusCode
	}, waitTimeout, "2s").Should(Equal(http.StatusSwitchingProtocols))
}

// fakeLine is a line whose agent answers with a status or an error.
type fakeLine struct {
	lines.Client
	status int
	fails  error
	done   chan struct{}
}

func (l fakeLine) Done() <-chan struct{} { return l.done }
func (l fakeLine) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := errors.Join(l.fails, r.Context().Err()); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: l.status, Body: http.NoBody}, nil
}

func TestAnAnswerOfAnyKindMeansThatAnAgentIsThere(t *testing.T) {
	t.Parallel()
	open, ended := make(chan struct{}), make(chan struct{})
	close(ended)
	for name, test := range map[string]struct {
		line fakeLine
		want bool
	}{
		"well":                     {fakeLine{status: http.StatusOK, done: open}, true},
		"not well":                 {fakeLine{status: http.StatusServiceUnavailable, done: open}, true},
		"busy":                     {fakeLine{fails: line.ErrFull, done: open}, true},
		"it refused to be asked":   {fakeLine{fails: errors.New("stream error"), done: open}, true},
		"its line broke":           {fakeLine{fails: io.ErrUnexpectedEOF, done: ended}, false},
		"it takes no requests now": {fakeLine{fails: line.ErrLeaving, done: open}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hungUp, cancel := context.WithCancel(t.Context())
			cancel() // whoever opens a line may be gone while the other agent is asked
			s := &Server{Deps: Deps{Clock: clock.RealClock{}}}
			NewWithT(t).Expect(s.isResponsive(hungUp, &lines.Line{Client: test.line})).To(Equal(test.want))
		})
	}
}
