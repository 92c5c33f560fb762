package connect

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/peers"
	"fairlead.dev/hub/fleet/connect/show"
)

// TestReplicas has a line at one replica of a hub and a request at another; they find each other through Leases on a
// real API server.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	g := w.g
	directory := w.directory()
	holder, err := peers.New(peers.Options{
		Host: "hub-0", BindAddress: "127.0.0.1:0", Directory: directory, Lines: w.server.Lines, Handler: http.HandlerFunc(w.server.ServePeer),
		Elected: make(chan struct{}), Clock: clock.RealClock{},
	})
	g.Expect(err).NotTo(HaveOccurred())
	(&site{w: w, peers: holder}).meet()
	asked := newSite(w, "hub-1", directory)
	stopAsked := asked.meet()
	ask := func(path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, asked.front.URL+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		req.Header = http.Header{"X-Remote-User": {"alice"}, "X-Remote-Group": {"ops"}, contract.HopHeader: {"1"}, contract.UserHeader: {"mallory"}}
		resp, err := asked.front.Client().Do(req)
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
		replica, _ := asked.peers.Holder("edge-replicas")
		return replica
	}, waitTimeout, "50ms").Should(Equal(holder.ID()))

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
	}, waitTimeout, "50ms").Should(Equal(http.StatusServiceUnavailable))

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
