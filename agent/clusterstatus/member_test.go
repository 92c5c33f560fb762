package clusterstatus

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"fairlead.dev/agent/clusterstatus/facts"
)

// TestHalfOfTheAPIsAreNotToldAsAll checks that a discovery request that fails after a restart, when the agent has no
// earlier result, does not make the hub forget the kinds that it knows.
func TestHalfOfTheAPIsAreNotToldAsAll(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var well atomic.Bool
	list := func(group, kind string) string {
		return `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"` + group + `"},
			"versions":[{"version":"v1","resources":[{"resource":"things","responseKind":{"kind":"` + kind + `"}}]}]}]}`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api":
			_, _ = w.Write([]byte(list("", "Pod")))
		case well.Load():
			_, _ = w.Write([]byte(list("apps", "Deployment")))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	m, err := newMember(&rest.Config{Host: server.URL}, server.Client())
	g.Expect(err).NotTo(HaveOccurred())

	all, partial := m.Enablements(t.Context())
	g.Expect(all).To(BeEmpty())
	g.Expect(partial).To(BeTrue())

	well.Store(true)
	all, partial = m.Enablements(t.Context())
	g.Expect(all).To(HaveLen(2))
	g.Expect(partial).To(BeFalse())

	well.Store(false)
	all, partial = m.Enablements(t.Context())
	g.Expect(all).To(HaveLen(2), "what was listed before still counts")
	g.Expect(partial).To(BeTrue())
}

// TestAProbeTellsARefusalFromSilence relies on API servers answering unknown credentials with 401 on every path.
func TestAProbeTellsARefusalFromSilence(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	m, err := newMember(&rest.Config{Host: server.URL}, server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(facts.Ready(m.Probe(t.Context())).Message).To(ContainSubstring("credentials"))
	server.Close()
	g.Expect(facts.Ready(m.Probe(t.Context())).Message).To(Equal("cluster is not reachable"))
}
