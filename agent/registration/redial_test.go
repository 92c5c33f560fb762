package registration

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
)

// publicHub is a hub that serves its public cluster-info, with the authorities to trust.
type publicHub struct {
	*httptest.Server
	// ca are the authorities that it names, in PEM, and asked is how often somebody wanted to know.
	ca    atomic.Value
	asked atomic.Int32
}

func newPublicHub(t *testing.T) *publicHub {
	t.Helper()
	h := &publicHub{}
	h.Server = httptest.NewUnstartedServer(h)
	h.EnableHTTP2 = true
	h.StartTLS()
	t.Cleanup(h.Close)
	h.ca.Store(encodeCertificate(h.Certificate()))
	return h
}

// ServeHTTP implements http.Handler.
func (h *publicHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/watch": // it shows nothing
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	case publicPath + "cluster-info":
	default:
		return
	}
	h.asked.Add(1)
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: h.URL, CertificateAuthorityData: h.ca.Load().([]byte)} //nolint:errcheck,forcetypeassert // It holds nothing else.
	raw, err := clientcmd.Write(*config)
	if err != nil {
		panic(err) // it is well-formed
	}
	_ = json.NewEncoder(w).Encode(corev1.ConfigMap{Data: map[string]string{"kubeconfig": string(raw)}}) //nolint:errchkjson // An agent that hears nothing asks again.
}

func TestAnAgentLearnsWhomToTrustSoonAfterItsHubWasAwayForAMoment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub, old, next := newPublicHub(t), newAuthority(t, "old"), newAuthority(t, "next")
	dir := joinedTo(t, hub.URL, hub.Certificate(), old.agent(t), old.key)
	now := clocktesting.NewFakeClock(time.Now())
	c, err := OpenCredentials(KeepOptions{StateDir: dir, Clock: now, Random: func() float64 { return 1 }})
	g.Expect(err).NotTo(HaveOccurred())
	request := func(path string) *http.Response {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, hub.URL+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		answer, err := c.RoundTrip(ask)
		g.Expect(err).NotTo(HaveOccurred())
		return answer
	}
	watch := request("/watch")
	defer watch.Body.Close() //nolint:errcheck // it ends before
	go func() { _ = c.Keep(t.Context()) }()
	g.Eventually(func() int32 { // as each agent does when it starts
		now.Step(time.Second)
		return hub.asked.Load()
	}).WithTimeout(time.Minute).Should(BeNumerically("==", 1))
	g.Expect(request("/readyz").Body.Close()).To(Succeed())
	g.Consistently(func() int32 {
		now.Step(time.Second)
		return hub.asked.Load()
	}).WithPolling(10*time.Millisecond).WithTimeout(500*time.Millisecond).Should(BeNumerically("==", 1), "now for hours")

	hub.ca.Store(slices.Concat(encodeCertificate(hub.Certificate()), encodeCertificate(next.cert)))
	hub.CloseClientConnections()
	_, err = io.ReadAll(watch.Body)
	g.Expect(err).To(HaveOccurred(), "the watch is cut off")
	g.Expect(request("/readyz").Body.Close()).To(Succeed(), "no request goes unanswered")
	began := now.Now()
	g.Eventually(func() []string {
		now.Step(time.Second)
		return c.now().trusts
	}).WithTimeout(time.Minute).Should(HaveLen(2))
	g.Expect(now.Since(began)).To(BeNumerically("<", 30*time.Minute))
}

func TestOnlyWhoConnectsAgainTells(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told, fail := 0, true
	dial := redialed(func(context.Context, string, string) (net.Conn, error) {
		if fail {
			return nil, net.ErrClosed
		}
		return &net.TCPConn{}, nil
	}, func() { told++ })
	connect := func() error {
		_, err := dial(t.Context(), "tcp", "127.0.0.1:1")
		return err
	}
	g.Expect(connect()).To(MatchError(net.ErrClosed))
	fail = false
	g.Expect(connect()).To(Succeed())
	g.Expect(told).To(BeZero(), "nobody was there before")
	g.Expect(connect()).To(Succeed())
	g.Expect(told).To(Equal(1))
	fail = true
	g.Expect(connect()).To(MatchError(net.ErrClosed))
	g.Expect(told).To(Equal(1), "whose request it is hears of it")
}
