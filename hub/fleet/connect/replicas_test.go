package connect

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers"
	"fairlead.dev/hub/fleet/connect/show"
)

// TestReplicas has a line at one replica of a hub and a request at another, which find each other through Leases of a real API server.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	g := w.g
	scheme := runtime.NewScheme()
	g.Expect(coordinationv1.AddToScheme(scheme)).To(Succeed())
	hub, err := client.New(w.api.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	directory := Replicas{HubClient: hub, Clock: clock.RealClock{}}
	start := func(name string, own *lines.Registry, serve http.HandlerFunc) (*peers.Peers, func()) {
		t.Helper()
		p, err := peers.New(peers.Options{
			Host: name, BindAddress: "127.0.0.1:0", Directory: directory, Lines: own, Handler: serve, Elected: make(chan struct{}), Clock: clock.RealClock{},
		})
		g.Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Start(ctx) }()
		stop := func() {
			cancel()
			g.Eventually(done).WithTimeout(patience).Should(Receive(BeNil()))
		}
		return p, stop
	}
	holder, stopHolder := start("hub-0", w.server.Lines, w.server.ServePeer)
	defer stopHolder()

	other := w.server.Deps
	other.Lines, other.Registry = lines.New(), prometheus.NewRegistry()
	var second *Server
	asked, stopAsked := start("hub-1", other.Lines, func(w http.ResponseWriter, r *http.Request) { second.ServePeer(w, r) })
	other.Peers, other.Replica = asked, asked.ID()
	second, err = New(other)
	g.Expect(err).NotTo(HaveOccurred())
	front := httptest.NewServer(second) // in the place of its API server
	defer front.Close()
	ask := func(path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		req.Header = http.Header{"X-Remote-User": {"alice"}, "X-Remote-Group": {"ops"}, contract.HopHeader: {"1"}, contract.UserHeader: {"mallory"}}
		resp, err := front.Client().Do(req)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return resp.StatusCode, string(body)
	}

	w.join("edge-replicas")
	status, _ := ask(contract.ClusterProxyPath("edge-replicas") + "/version")
	g.Expect(status).To(Equal(http.StatusServiceUnavailable), "no replica has a line")
	_, _, hangUp := w.attach("edge-replicas", "a", member())
	g.Eventually(func() string {
		replica, _ := asked.Holder("edge-replicas")
		return replica
	}, patience, "50ms").Should(Equal(holder.ID()))

	status, body := ask(contract.ClusterProxyPath("edge-replicas") + "/api/v1/pods?limit=1")
	g.Expect(status).To(Equal(http.StatusOK), body)
	var seen struct {
		URI    string
		Header http.Header
	}
	g.Expect(json.Unmarshal([]byte(body), &seen)).To(Succeed())
	g.Expect(seen.URI).To(Equal(contract.LineProxyPrefix + "/api/v1/pods?limit=1"))
	g.Expect(seen.Header).To(And(HaveKeyWithValue(contract.UserHeader, []string{"alice"}), HaveKeyWithValue(contract.GroupHeader, []string{"ops"})))

	status, body = ask(contract.ConnectAPIPath + "/lines/edge-replicas")
	g.Expect(status).To(Equal(http.StatusOK), body)
	var line show.Line
	g.Expect(json.Unmarshal([]byte(body), &line)).To(Succeed())
	g.Expect(line.Status.Up).To(BeTrue())
	g.Expect(line.Status.Replica).To(Equal(holder.ID()))

	hangUp()
	g.Eventually(func() int {
		status, _ := ask(contract.ClusterProxyPath("edge-replicas") + "/version")
		return status
	}, patience, "50ms").Should(Equal(http.StatusServiceUnavailable))

	records, err := directory.List(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(records).To(HaveLen(2))
	for _, record := range records {
		if record.ID == holder.ID() {
			record.Version = "1"
			g.Expect(directory.Remove(t.Context(), record)).To(Succeed())
		}
	}
	stopAsked()
	records, err = directory.List(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(records).To(HaveLen(1), "the one that stopped took its Lease with it, and one that was renewed since stays")
	g.Expect(records[0].ID).To(Equal(holder.ID()))
}
