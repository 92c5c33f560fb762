package connect

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
)

// hub opens lines in the time of a bubble.
type hub struct {
	t *testing.T
	// answer decides about a request to open a line; nil opens it with the terms of said.
	answer func() (*http.Response, error)
	said   http.Header

	mu      sync.Mutex
	asked   []time.Time
	headers []http.Header
	lines   []*line.Client
	conns   []net.Conn

	serial   string
	notAfter time.Time
	log      []string
}

func newHub(t *testing.T) *hub {
	t.Helper()
	return &hub{t: t, said: http.Header{}, serial: "1", notAfter: time.Now().Add(30 * 24 * time.Hour)}
}

func (h *hub) open(_ context.Context, path string, header http.Header) (net.Conn, *http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if path != contract.LineAttachPath("edge-1") {
		h.t.Errorf("asked for %s", path)
	}
	h.asked = append(h.asked, time.Now())
	h.headers = append(h.headers, header)
	if h.answer != nil {
		response, err := h.answer()
		return nil, response, err
	}
	a, b := net.Pipe()
	opened := make(chan struct{})
	go func() { // the agent reads only after it has the connection
		c, err := line.NewClient(h.t.Context(), a, line.ClientOptions{})
		if err != nil {
			h.t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lines = append(h.lines, c)
		close(opened)
	}()
	h.conns = append(h.conns, a)
	h.t.Cleanup(func() { <-opened })
	return b, &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: h.said, Body: http.NoBody}, nil
}

func (h *hub) certificate() (string, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.serial, h.notAfter
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}

// newest is the line that was opened last.
func (h *hub) newest() *line.Client {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines[len(h.lines)-1]
}

func (h *hub) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.conns[len(h.conns)-1].Close()
}

// keep runs a Connector until the test stops it.
func (h *hub) keep(change func(*Deps)) (connector *Connector, stop func()) {
	h.t.Helper()
	deps := Deps{Cluster: "edge-1", Open: h.open, Certificate: h.certificate, Clock: clock.RealClock{}}
	if change != nil {
		change(&deps)
	}
	connector, err := New(deps)
	NewWithT(h.t).Expect(err).NotTo(HaveOccurred())
	log := funcr.New(func(_, args string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.log = append(h.log, args)
	}, funcr.Options{})
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(h.t.Context(), log))
	done := make(chan error, 1)
	go func() { done <- connector.Start(ctx) }()
	return connector, sync.OnceFunc(func() {
		cancel()
		NewWithT(h.t).Expect(<-done).To(Succeed())
		for _, c := range h.lines {
			<-c.Done()
		}
	})
}

// value returns the value of a gauge or a counter.
func value(t *testing.T, metric prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	NewWithT(t).Expect(metric.Write(&out)).To(Succeed())
	return out.GetGauge().GetValue() + out.GetCounter().GetValue()
}

func ask(t *testing.T, c *line.Client, method, path, body string) (int, string) {
	t.Helper()
	g := NewWithT(t)
	req, err := http.NewRequestWithContext(t.Context(), method, "http://agent"+path, strings.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	resp, err := c.RoundTrip(req)
	g.Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close() //nolint:errcheck // a test
	text, err := io.ReadAll(resp.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, string(text)
}
