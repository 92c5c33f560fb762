package connect

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/hub/fleet/connect/limit"
)

func TestTheHubKeepsPlacesForItself(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(limit.Uploads().Line).To(Equal(line.MaxUploads - 2))
	g.Expect(limit.Uploads().Line).To(BeNumerically("<", line.MaxStreams))
}

// stalled is a member that hijacks upgraded connections and reads nothing from them, and reads other bodies to their
// end.
func stalled() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(contract.LineSelfPath, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			_, _ = io.Copy(w, r.Body)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		<-r.Context().Done()
		_ = conn.Close()
	})
	return mux
}

// TestUploads opens as many uploads as allowed, none of which is read, and checks what still passes.
func TestUploads(t *testing.T) {
	w := newWorld(t)
	g := w.g
	w.join("edge-uploads")
	w.allow("uploads", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "uploaders"}, rbacv1.PolicyRule{
		Verbs: []string{"get", "create"}, APIGroups: []string{contract.ConnectGroup}, Resources: []string{"clusters/proxy"}, ResourceNames: []string{"edge-uploads"},
	})
	w.attach("edge-uploads", "s1", stalled())
	proxy := contract.ClusterProxyPath("edge-uploads")
	exec := func(user string) *http.Response {
		t.Helper()
		conn, _, resp := w.as(user, "uploaders").upgrade(http.MethodPost, proxy+"/exec", "SPDY/3.1", nil)
		if resp.StatusCode == http.StatusSwitchingProtocols {
			go func() { _, _ = conn.Write(make([]byte, 1<<20)) }() // until the test ends
		}
		return resp
	}
	refused := func(resp *http.Response) string {
		t.Helper()
		defer func() { _ = resp.Body.Close() }()
		status := metav1.Status{}
		g.Expect(json.NewDecoder(resp.Body).Decode(&status)).To(Succeed())
		g.Expect(resp.StatusCode).To(Equal(http.StatusTooManyRequests))
		g.Expect(resp.Header.Get("Retry-After")).To(Equal("1"))
		return status.Message
	}
	for i, most := 0, limit.Uploads(); i < most.Line; i++ {
		user := fmt.Sprintf("u%d", i/most.User)
		g.Expect(exec(user).StatusCode).To(Equal(http.StatusSwitchingProtocols)) //nolint:bodyclose // What upgrades ends with its connection.
		if i == most.User-1 {
			g.Expect(refused(exec(user))).To(Equal( //nolint:bodyclose // refused closes it.
				"u0 has 20 streams open to edge-uploads, and a user may have 20: end one, or wait"))
		}
	}
	g.Expect(refused(exec("u9"))).To(Equal( //nolint:bodyclose // refused closes it.
		"28 commands, port-forwards and uploads are open to edge-uploads, and a line takes 28: wait until one ends"))
	sent := func() float64 {
		var out dto.Metric
		g.Expect(w.server.metrics.bytes.WithLabelValues(toMember).Write(&out)).To(Succeed())
		return out.GetCounter().GetValue()
	}
	g.Eventually(sent, waitTimeout, "20ms").Should(BeNumerically(">", limit.Uploads().Line*(96<<10)), "all their windows are full, but for a buffer that does not fit")

	// Streams that are being read are not held up, nor is the hub itself; a body counts as an upload as well.
	post := w.as("u9", "uploaders").request(http.MethodPost, proxy+"/api/v1/pods", nil)
	g.Expect(w.as("u0", "uploaders").do(http.MethodGet, proxy+"/api/v1/pods", nil).code).To(Equal(http.StatusOK))
	g.Expect(w.as("u9", "uploaders").do(http.MethodPost, proxy+"/api/v1/pods", nil).code).To(Equal(http.StatusOK), "it has no body")
	body := `{"kind":"Pod"}`
	post.Body, post.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	g.Expect(refused(w.send(post))).To(ContainSubstring("a line takes 28")) //nolint:bodyclose // refused closes it.
	opened := w.server.Lines.Newest("edge-uploads")
	g.Expect(askAgent(t.Context(), opened.Client, http.MethodPut, contract.LinePresencePath, contract.LineIsPresence)).To(Succeed())
	g.Expect(w.server.uploads.Open()).To(Equal(28))
	g.Eventually(opened.Client.Streams, waitTimeout, "20ms").Should(Equal(28), "what was refused holds nothing, nor what has ended a moment ago")

	// They end with their line.
	_ = opened.Client.Close() // then it is done
	g.Eventually(w.server.uploads.Open, waitTimeout, "20ms").Should(BeZero())
	g.Eventually(w.server.streams.Open, waitTimeout, "20ms").Should(BeZero())
}

// TestBodiesThatDoNotCome uses a fake clock, and clients that stand in for the API server.
func TestBodiesThatDoNotCome(t *testing.T) {
	w := newWorld(t)
	g := w.g
	w.join("edge-slow")
	got := make(chan error, 10) // how the bodies that the member read ended
	reached, early := make(chan struct{}, 1), make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc(contract.LineSelfPath, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /proxy/reads", func(w http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		_, err := io.Copy(io.Discard, r.Body)
		got <- err
		_, _ = io.WriteString(w, "read")
	})
	mux.HandleFunc("POST /proxy/answers", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "early")
		_ = http.NewResponseController(w).Flush()
		early <- struct{}{}
		_, err := io.Copy(io.Discard, r.Body)
		got <- err
		<-r.Context().Done()
	})
	mux.Handle("/", member())
	w.attach("edge-slow", "s1", mux)

	deps := w.server.Deps
	now := testingclock.NewFakeClock(time.Now())
	deps.Clock, deps.Registry = now, prometheus.NewRegistry()
	server, err := New(deps)
	g.Expect(err).NotTo(HaveOccurred())
	front := httptest.NewServer(server)
	defer front.Close()
	post := func(path string, body io.Reader) *http.Request {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+contract.ClusterProxyPath("edge-slow")+path, body)
		g.Expect(err).NotTo(HaveOccurred())
		req.Header = http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}
		return req
	}
	type result struct {
		*http.Response
		err error
	}
	begin := func(path string) (in *io.PipeWriter, answered chan result) {
		t.Helper()
		body, in := io.Pipe()
		t.Cleanup(func() { _ = in.Close() })
		answered = make(chan result, 1)
		req := post(path, body)
		go func() {
			resp, err := front.Client().Do(req) //nolint:bodyclose // The receiver closes it.
			answered <- result{resp, err}
		}()
		_, err := in.Write([]byte("{"))
		g.Expect(err).NotTo(HaveOccurred())
		return in, answered
	}
	var resp result

	// A slow body that arrives completely is answered.
	in, answered := begin("/reads")
	g.Eventually(reached, waitTimeout).Should(Receive())
	g.Eventually(now.HasWaiters, waitTimeout, "10ms").Should(BeTrue())
	now.Step(sendTimeout - time.Second)
	g.Expect(in.Close()).To(Succeed())
	g.Eventually(answered, waitTimeout).Should(Receive(&resp))
	g.Expect(resp.err).NotTo(HaveOccurred())
	g.Expect(resp.StatusCode).To(Equal(http.StatusOK))
	_ = resp.Body.Close()
	g.Expect(<-got).NotTo(HaveOccurred())

	// One that does not is cut off, and its sender is told.
	g.Eventually(now.HasWaiters, waitTimeout, "10ms").Should(BeFalse())
	_, answered = begin("/reads")
	g.Eventually(reached, waitTimeout).Should(Receive(), "else the member might never hear of what is cut")
	g.Eventually(now.HasWaiters, waitTimeout, "10ms").Should(BeTrue())
	now.Step(sendTimeout)
	g.Eventually(answered, waitTimeout).Should(Receive(&resp))
	g.Expect(resp.err).NotTo(HaveOccurred())
	status := metav1.Status{}
	g.Expect(json.NewDecoder(resp.Body).Decode(&status)).To(Succeed())
	_ = resp.Body.Close()
	g.Expect(resp.StatusCode).To(Equal(http.StatusRequestTimeout))
	g.Expect(resp.Header).NotTo(HaveKey("Retry-After"), "what it did before nobody knows")
	g.Expect(status.Message).To(Equal("the body of the request to edge-slow did not arrive completely within 60s: send less at a time, or over a faster network"))
	g.Eventually(got, waitTimeout).Should(Receive(HaveOccurred()), "the member does not wait for the rest")
	g.Eventually(server.uploads.Open, waitTimeout, "10ms").Should(BeZero())

	// A response before the end of the body makes no difference, and a body that was cut off does not look complete.
	g.Eventually(now.HasWaiters, waitTimeout, "10ms").Should(BeFalse())
	_, answered = begin("/answers")
	g.Eventually(early, waitTimeout).Should(Receive())
	g.Eventually(now.HasWaiters, waitTimeout, "10ms").Should(BeTrue())
	now.Step(sendTimeout)
	g.Eventually(answered, waitTimeout).Should(Receive(&resp))
	if resp.err == nil {
		_, err = io.ReadAll(resp.Body)
		g.Expect(err != nil || resp.StatusCode == http.StatusRequestTimeout).To(BeTrue())
		_ = resp.Body.Close()
	}
	g.Eventually(got, waitTimeout).Should(Receive(HaveOccurred()))
	g.Eventually(server.uploads.Open, waitTimeout, "10ms").Should(BeZero())

	// An upgraded stream may be silent: the watchdog looks for stalls only, and finds none.
	req := post("/exec", http.NoBody)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	upgraded, err := front.Client().Do(req) //nolint:bodyclose // It is closed below, by its type.
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(upgraded.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	stream, ok := upgraded.Body.(io.ReadWriteCloser)
	g.Expect(ok).To(BeTrue())
	g.Eventually(now.Waiters, waitTimeout, "10ms").Should(Equal(1))
	now.Step(24 * time.Hour)
	_, err = stream.Write([]byte("hello"))
	g.Expect(err).NotTo(HaveOccurred())
	echo := make([]byte, 5)
	_, err = io.ReadFull(stream, echo)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(echo)).To(Equal("hello"))
	g.Expect(server.uploads.Open()).To(Equal(1))
	g.Expect(stream.Close()).To(Succeed())
	g.Eventually(server.uploads.Open, waitTimeout, "10ms").Should(BeZero())
}
