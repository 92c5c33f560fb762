package apiserver

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/cluster"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		own, other string
		want       bool
	}{
		{"v1.2.0", "v1.3.0", true},
		{"v1.3.0", "v1.3.0", false},
		{"v1.3.0", "v1.2.0", false},
		{"v1.3.0-rc.1", "v1.3.0", true},
		{"v0.0.0-20261121070000-abd97cb01234", "v0.0.0-20261122070000-000000000000+dirty", true},
		{"(devel)", "v1.3.0", false},
		{"v1.3.0", "", false},
	} {
		NewWithT(t).Expect(isOlder(tc.own, tc.other)).To(Equal(tc.want), "%s %s", tc.own, tc.other)
	}
}

// anOlderHubLeavesWhatANewerOneInstalled installs several versions on an API server that was installed by none of them.
func anOlderHubLeavesWhatANewerOneInstalled(t *testing.T, hub *cluster.Cluster) {
	t.Helper()
	g := NewWithT(t)
	hubClient := hub.Client(t)
	install := func(version string, downgrade bool) {
		t.Helper()
		g.Expect(Install(t.Context(), hub.Config, Options{Version: version, AllowDowngrade: downgrade})).To(Succeed())
	}
	// Of several that start at once the newest wins, in whatever order they come.
	var all errgroup.Group
	for _, version := range []string{"v1.2.0", "v1.3.0", "v1.1.0"} {
		all.Go(func() error { return Install(t.Context(), hub.Config, Options{Version: version}) })
	}
	g.Expect(all.Wait()).To(Succeed())
	installed := func() string {
		version, err := (&installer{hubClient: hubClient}).installed(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return version
	}
	g.Expect(installed()).To(Equal("v1.3.0"))

	// What a newer version has is another text.
	const newer = "as a newer hub says"
	policy := &unstructured.Unstructured{}
	policy.SetAPIVersion("admissionregistration.k8s.io/v1")
	policy.SetKind("ValidatingAdmissionPolicy")
	rules := func() []any {
		g.Expect(hubClient.Get(t.Context(), client.ObjectKey{Name: "propagation-policies.fairlead.dev"}, policy)).To(Succeed())
		rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "validations")
		g.Expect(err).NotTo(HaveOccurred())
		return rules
	}
	first := func(rules []any) map[string]any {
		rule, _ := rules[0].(map[string]any)
		return rule
	}
	message := func() any { return first(rules())["message"] }
	differs := func() {
		t.Helper()
		changed := rules()
		first(changed)["message"] = newer
		g.Expect(unstructured.SetNestedSlice(policy.Object, changed, "spec", "validations")).To(Succeed())
		g.Expect(hubClient.Update(t.Context(), policy)).To(Succeed())
	}
	differs()
	install("v1.2.0", false)
	g.Expect(message()).To(Equal(newer), "an older hub leaves it, though its own is another")
	install("v1.4.0", false)
	g.Expect(message()).NotTo(Equal(newer), "a newer one that starts beside it installs its own, whoever works")
	g.Expect(installed()).To(Equal("v1.4.0"))
	differs()
	install("v1.2.0", true)
	g.Expect(message()).NotTo(Equal(newer), "an older one goes back if it is told to")
	g.Expect(installed()).To(Equal("v1.2.0"))

	// A newer one that was killed on the way has said so: it goes on, and an older one does not go back.
	g.Expect((&installer{hubClient: hubClient}).note(t.Context(), "v1.5.0")).To(Succeed())
	differs()
	install("v1.4.0", false)
	g.Expect(message()).To(Equal(newer))
	install("v1.5.0", false)
	g.Expect(message()).NotTo(Equal(newer))
}

// silentInTheMiddle answers no request from the first one that installs a policy until whoever installs has given that one up.
type silentInTheMiddle struct {
	api    http.Handler
	silent atomic.Bool
	over   chan struct{}
}

func (s *silentInTheMiddle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isPolicy := r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/apis/admissionregistration.k8s.io/")
	if isPolicy && s.silent.CompareAndSwap(false, true) {
		<-r.Context().Done()
		close(s.over)
		return
	}
	if s.silent.Load() {
		select {
		case <-s.over:
		case <-r.Context().Done():
			return
		}
	}
	s.api.ServeHTTP(w, r)
}

// anInstallationOutlivesASilence has the API server fall silent for longer than a hub holds the installation for its own.
func anInstallationOutlivesASilence(t *testing.T, hub *cluster.Cluster) {
	t.Helper()
	g := NewWithT(t)
	api, err := url.Parse(hub.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(hub.Config)
	g.Expect(err).NotTo(HaveOccurred())
	silence := &silentInTheMiddle{
		api:  &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(api) }},
		over: make(chan struct{}),
	}
	front := httptest.NewUnstartedServer(silence)
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)
	cfg := &rest.Config{Host: front.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}),
	}}

	g.Expect(Install(t.Context(), cfg, Options{Version: "v1.6.0"})).To(Succeed())

	g.Expect(silence.over).To(BeClosed(), "it was given up once")
	version, err := (&installer{hubClient: hub.Client(t)}).installed(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version).To(Equal("v1.6.0"))
}
