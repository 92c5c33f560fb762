package connect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/utils/clock"

	"fairlead.dev/agent/outage"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
)

func TestALineIsKeptAndServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		h, registry := newHub(t), prometheus.NewRegistry()
		h.said.Set(contract.LinePresenceHeader, contract.LineIsPresence)
		var sick error
		connector, stop := h.keep(func(d *Deps) {
			d.Registry, d.Ping = registry, func() time.Duration { return time.Minute }
			d.Well = func() error { return sick }
			d.Allowed = func(context.Context) string { return "read" }
			d.Operators = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "pods of "+r.URL.Path) })
		})
		now, changed := connector.State().Now()
		g.Expect(now).To(BeZero())
		c := h.newest()
		g.Expect(changed).To(BeClosed())
		now, changed = connector.State().Now()
		g.Expect(now).To(Equal(Line{Up: true, IsPresence: true, Opened: time.Now()}))
		sent := h.headers[0]
		g.Expect(sent.Get(contract.LineOperatorsHeader)).To(Equal("read"))
		g.Expect(sent.Get(contract.LinePingHeader)).To(Equal("1m0s"))
		g.Expect(sent.Get(contract.LineSessionHeader)).To(HaveLen(sessionLength))
		until, err := time.Parse(time.RFC3339, sent.Get(contract.LineNotAfterHeader))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(until).To(BeTemporally("~", h.notAfter, time.Second))

		code, text := ask(t, c, http.MethodGet, "/proxy/api/v1/pods", "")
		g.Expect([]any{code, text}).To(Equal([]any{200, "pods of /proxy/api/v1/pods"}))
		code, _ = ask(t, c, http.MethodGet, "/self", "")
		g.Expect(code).To(Equal(http.StatusOK))
		sick = errors.New("the hub has not answered for 50s: connection refused")
		code, text = ask(t, c, http.MethodGet, "/self", "")
		g.Expect([]any{code, strings.TrimSpace(text)}).To(Equal([]any{http.StatusServiceUnavailable, sick.Error()}))
		for _, path := range []string{"/", "/proxyx", "/../proxy", "/metrics"} {
			code, _ = ask(t, c, http.MethodGet, path, "")
			g.Expect(code).To(Equal(http.StatusNotFound), path)
		}
		code, _ = ask(t, c, http.MethodPut, "/presence", "never")
		g.Expect(code).To(Equal(http.StatusBadRequest))
		g.Expect(changed).NotTo(BeClosed())
		code, _ = ask(t, c, http.MethodPut, "/presence", contract.LeaseIsPresence)
		g.Expect(code).To(Equal(http.StatusNoContent))
		g.Expect(changed).To(BeClosed())
		now, _ = connector.State().Now()
		g.Expect([]bool{now.Up, now.IsPresence}).To(Equal([]bool{true, false}))
		time.Sleep(time.Minute)
		g.Expect(value(t, connector.metrics.up)).To(BeEquivalentTo(1))

		stop()
		g.Expect(c.Err()).To(MatchError(line.ErrGoodbye), "the hub is told that this is planned")
		was := now.Opened
		now, _ = connector.State().Now()
		g.Expect(now).To(Equal(Line{Opened: was, Lost: time.Now()}))
		g.Expect(value(t, connector.metrics.up)).To(BeZero())
		g.Expect(value(t, connector.metrics.opens.WithLabelValues(resultOpened))).To(BeEquivalentTo(1))
	})
}

func TestNobodyIsLetInWithoutAHandler(t *testing.T) {
	t.Parallel()
	connector, err := New(Deps{Cluster: "edge-1", Open: newHub(t).open, Certificate: newHub(t).certificate, Clock: clock.RealClock{}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	answer := httptest.NewRecorder()
	connector.handler(&held{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/proxy/api", nil))
	NewWithT(t).Expect(answer.Code).To(Equal(http.StatusForbidden))
}

func TestALineThatWasCutIsSoonBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		h := newHub(t)
		_, stop := h.keep(nil)
		defer stop()
		for n := range 20 {
			time.Sleep(time.Minute)
			g.Expect(h.count()).To(Equal(n+1), "a line that holds is not opened again")
			h.cut()
			time.Sleep(3 * time.Second)
			g.Expect(h.count()).To(Equal(n + 2))
		}
	})
}

func TestAHubThatIsAwayIsNotRunOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		h := newHub(t)
		h.answer = func() (*http.Response, error) { return nil, errors.New("dial tcp: connection refused") }
		_, stop := h.keep(nil)
		defer stop()
		time.Sleep(time.Hour)
		g.Expect(h.count()).To(BeNumerically("~", 240, 100), "every 15 s on average")
		for i, at := range h.asked[1:] {
			g.Expect(at.Sub(h.asked[i])).To(BeNumerically("<=", 2*mostPause))
		}
		g.Expect(h.log).To(HaveLen(1), "the log says so once")
	})
}

// end ends an outage, or one that is over as it begins.
func end(o *outage.Outage) {
	o.Tell(errors.New("connection refused"))
	o.Tell(nil)
}

func TestALineIsRenewedBeforeTheOldOneEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		why    func(*hub, *Connector)
		within time.Duration
	}{
		"the certificate was renewed": {func(h *hub, _ *Connector) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.serial = "2"
		}, 2 * time.Minute},
		"it is old": {func(*hub, *Connector) {}, 2 * time.Hour},
		"the hub drains": {func(h *hub, _ *Connector) {
			if code, _ := ask(h.t, h.newest(), http.MethodPost, contract.LineRenewPath, ""); code != http.StatusOK {
				h.t.Error(code)
			}
		}, 2 * time.Second},
		"its owner allows other things": {func(_ *hub, connector *Connector) { connector.Renew() }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				h := newHub(t)
				h.said.Set(contract.LineMaxAgeHeader, "2h")
				connector, stop := h.keep(func(d *Deps) {
					d.Operators = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_ = http.NewResponseController(w).Flush()
						<-r.Context().Done()
					})
				})
				defer stop()
				old := h.newest()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://agent/proxy/logs", http.NoBody)
				g.Expect(err).NotTo(HaveOccurred())
				logs, err := old.RoundTrip(req)
				g.Expect(err).NotTo(HaveOccurred())
				defer logs.Body.Close() //nolint:errcheck // a test
				first, _ := connector.State().Now()
				tc.why(h, connector)
				time.Sleep(tc.within)
				g.Expect(h.newest()).NotTo(BeIdenticalTo(old))
				g.Expect(h.count()).To(Equal(2))
				g.Expect(old.Leaving()).To(BeClosed())
				g.Expect(old.Done()).NotTo(BeClosed(), "what goes on there goes on")
				second, _ := connector.State().Now()
				g.Expect(second.Up).To(BeTrue())
				g.Expect(second.Opened).To(BeTemporally(">=", first.Opened))
				g.Expect(second.Lost).To(BeZero(), "there was a line all the time")
				if tc.within > time.Second {
					return
				}
				time.Sleep(lingers + time.Minute)
				g.Expect(old.Done()).To(BeClosed(), "but not for ever")
				g.Expect(h.newest().Done()).NotTo(BeClosed())
			})
		})
	}
}

func TestALineEndsWithItsCertificate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		h := newHub(t)
		h.notAfter = time.Now().Add(time.Hour)
		_, stop := h.keep(nil)
		defer stop()
		c := h.newest()
		h.mu.Lock()
		h.answer = func() (*http.Response, error) { return nil, errors.New("tls: expired certificate") }
		h.mu.Unlock()
		time.Sleep(time.Hour - time.Second)
		g.Expect(c.Done()).NotTo(BeClosed())
		time.Sleep(3 * time.Second)
		g.Expect(c.Done()).To(BeClosed())
		h.mu.Lock()
		defer h.mu.Unlock()
		g.Expect(h.log).To(ContainElement(And(ContainSubstring("The line to the hub ended"), ContainSubstring("the certificate that opened it has expired"))))
	})
}
