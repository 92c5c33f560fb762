package connect

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/hub/fleet/connect/lines"
)

// joined is a reader that returns a joined Cluster for any name.
type joined struct{ client.Reader }

func (joined) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetName(key.Name)
	o.SetUID("1")
	o.SetAnnotations(map[string]string{contract.JoinedAnnotation: `{"id":"join-of-` + key.Name + `"}`})
	return nil
}

// withoutAPI is a server without an API server.
func withoutAPI(t *testing.T, c clock.WithTicker, presence func() string) (*Server, *httptest.Server) {
	t.Helper()
	g := NewWithT(t)
	s, err := New(Deps{
		Clusters: joined{}, HubReader: joined{}, Lines: lines.New(), Replica: "hub-0", Clock: c, Registry: prometheus.NewRegistry(), Presence: presence,
		Review: func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error) { return true, nil },
	})
	g.Expect(err).NotTo(HaveOccurred())
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	return s, front
}

// ask101 sends an upgrade request.
func ask101(t *testing.T, front *httptest.Server, method, path string, header http.Header) (net.Conn, *bufio.Reader) {
	t.Helper()
	g := NewWithT(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", front.Listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	req, err := http.NewRequestWithContext(t.Context(), method, "http://hub"+path, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	header.Set("Connection", "Upgrade")
	req.Header = header
	g.Expect(req.Write(conn)).To(Succeed())
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, req) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	return conn, reader
}

// agentOf opens the line of a cluster, and serves it with a handler.
func agentOf(t *testing.T, front *httptest.Server, cluster string, handler http.Handler) {
	t.Helper()
	conn, reader := ask101(t, front, http.MethodPost, contract.LineAttachPath(cluster), http.Header{
		"X-Remote-User": {contract.AgentUser(cluster)}, "X-Remote-Group": {contract.JoinGroup("join-of-" + cluster)},
		"Upgrade": {contract.LineProtocol}, contract.LineSessionHeader: {"s1"},
	})
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		_ = line.Serve(ctx, line.Buffered(conn, reader), handler, line.ServerOptions{})
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// TestALineThatOpensWhileTheReplicaDrainsIsRenewed starts draining after an agent was admitted and before its line is
// registered.
func TestALineThatOpensWhileTheReplicaDrainsIsRenewed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var s *Server
	drained := make(chan struct{})
	atPresence := func() string {
		if s.Lines.Lines("edge-1") == nil && !s.isDraining() {
			go func() {
				defer close(drained)
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitTimeout)
				defer cancel()
				s.drain(ctx)
			}()
			g.Eventually(s.isDraining).WithTimeout(waitTimeout).Should(BeTrue())
		}
		return contract.LineIsPresence
	}
	s, front := withoutAPI(t, clock.RealClock{}, atPresence)
	asked := make(chan struct{}, 1)
	agentOf(t, front, "edge-1", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == contract.LineRenewPath {
			asked <- struct{}{}
		}
	}))
	g.Eventually(asked).WithTimeout(waitTimeout).Should(Receive())
	g.Eventually(drained).WithTimeout(waitTimeout).Should(BeClosed())
	state, _ := s.Lines.State("edge-1")
	g.Expect(state.Up).To(BeFalse())
}

// TestAStreamThatIsStalledGivesItsPlaceBack has a command that neither reads nor writes, and an operator who hangs up.
func TestAStreamThatIsStalledGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testingclock.NewFakeClock(time.Now())
	s, front := withoutAPI(t, c, func() string { return contract.LineIsPresence })
	agentOf(t, front, "edge-1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"))
		<-r.Context().Done()
	}))
	g.Eventually(func() bool { state, _ := s.Lines.State("edge-1"); return state.Up }).WithTimeout(waitTimeout).Should(BeTrue())
	exec := func() net.Conn {
		conn, _ := ask101(t, front, http.MethodPost, contract.ClusterProxyPath("edge-1")+"/api/v1/namespaces/shop/pods/web-0/exec", http.Header{"X-Remote-User": {"alice"}, "Upgrade": {"SPDY/3.1"}})
		return conn
	}
	silent, stalled := exec(), exec()
	g.Expect(stalled.SetWriteDeadline(time.Now().Add(2 * time.Second))).To(Succeed())
	for buffer := make([]byte, 1<<20); ; {
		if _, err := stalled.Write(buffer); err != nil {
			break
		}
	}
	_ = stalled.Close()
	g.Expect(s.uploads.Open()).To(Equal(2))
	aMinuteLater := func() int {
		c.Step(time.Minute)
		return s.uploads.Open()
	}
	// Each of the two waits takes at most ten hours of that clock; the line itself ends after a day.
	g.Eventually(aMinuteLater).WithTimeout(waitTimeout).WithPolling(100 * time.Millisecond).Should(Equal(1))
	g.Eventually(s.streams.Open).WithTimeout(waitTimeout).Should(Equal(1), "the one that is silent stays")
	_ = silent.Close()
	g.Eventually(aMinuteLater).WithTimeout(waitTimeout).WithPolling(100*time.Millisecond).Should(BeZero(), "its operator has hung up")
}
