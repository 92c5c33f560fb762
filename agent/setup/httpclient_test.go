package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

func TestAServerThatNeverAnswersHoldsUpNobodyForEver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	t.Cleanup(func() {
		close(done)
		server.Close()
	})
	watching := &http.Client{Transport: http.DefaultTransport}
	asking := bounded(watching, 50*time.Millisecond)
	g.Expect(watching.Timeout).To(BeZero(), "watches go on")
	g.Expect(asking.Transport).To(BeIdenticalTo(watching.Transport))

	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(&rest.Config{Host: server.URL, QPS: -1}, client.Options{HTTPClient: asking, Scheme: scheme, Mapper: workloadMapper()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "node-1"}, &corev1.Node{})).NotTo(Succeed())
}

func TestAWatchIsThereAsSoonAsTheMemberIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var dials atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(server.Close)
	var up atomic.Bool
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		if !up.Load() {
			address = "127.0.0.1:1"
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	c := waiting(&http.Client{Transport: transport}, clock.RealClock{}, time.Millisecond)
	send := func(ctx context.Context, method, url string) error {
		request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := c.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}

	answered := make(chan error, 1)
	go func() { answered <- send(t.Context(), http.MethodGet, server.URL) }()
	g.Eventually(dials.Load).Should(BeNumerically(">", 3))
	g.Expect(answered).NotTo(Receive())
	up.Store(true)
	g.Eventually(answered).Should(Receive(BeNil()))

	up.Store(false)
	g.Expect(send(t.Context(), http.MethodPatch, server.URL)).To(MatchError(ContainSubstring("refused")), "who writes is told")
	ctx, cancel := context.WithCancel(t.Context())
	before := dials.Load()
	go func() { answered <- send(ctx, http.MethodGet, server.URL) }()
	g.Eventually(dials.Load).Should(BeNumerically(">", before))
	cancel()
	g.Eventually(answered).Should(Receive(MatchError(context.Canceled)), "nobody waits any more")
	up.Store(true)
	before = dials.Load()
	g.Expect(send(t.Context(), http.MethodGet, "https://"+server.Listener.Addr().String())).NotTo(Succeed(), "it answers, and not as it should")
	g.Expect(dials.Load()).To(Equal(before + 1))
}

func TestThatNobodyAnswersIsToldFromWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	g.Expect(unanswered(fmt.Errorf("listing: %w", refused))).To(BeTrue())
	g.Expect(unanswered(&net.OpError{Op: "proxyconnect", Err: refused})).To(BeTrue())
	g.Expect(unanswered(&net.OpError{Op: "read", Err: syscall.ECONNRESET})).To(BeFalse())
	g.Expect(unanswered(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}})).To(BeFalse(), "the name is wrong")
	g.Expect(unanswered(&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}})).To(BeTrue())
	g.Expect(unanswered(errors.New("x509: certificate signed by unknown authority"))).To(BeFalse())
}
