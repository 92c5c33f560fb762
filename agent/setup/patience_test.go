package setup

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

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
