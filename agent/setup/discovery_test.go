package setup

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"fairlead.dev/common/kube"
)

// stub is a member that answers some paths with a status and a text, and no others.
func stub(t *testing.T, answers map[string]string, codes map[string]int) *member {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		code, special := codes[r.URL.Path]
		if !known && !special {
			code = http.StatusNotFound
		}
		w.Header().Set("Content-Type", "application/json")
		if code != 0 {
			w.WriteHeader(code)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	m, err := connectMember(Options{Member: &rest.Config{Host: server.URL}}, scheme)
	g.Expect(err).NotTo(HaveOccurred())
	return m
}

func TestWhetherAMemberIsReady(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		codes map[string]int
		want  string // the error; empty if it is taken to be ready
	}{
		"ready":                        {codes: map[string]int{"/readyz": 200}},
		"starting":                     {codes: map[string]int{"/readyz": 500, "/healthz": 200}, want: "not ready"},
		"busy":                         {codes: map[string]int{"/readyz": 503}, want: "asking whether"},
		"it does not let us ask":       {codes: map[string]int{"/readyz": 403}},
		"it does not know us":          {codes: map[string]int{"/readyz": 401}, want: "asking whether"},
		"healthy, of one without that": {codes: map[string]int{"/healthz": 200}},
		"starting, of one without":     {codes: map[string]int{"/healthz": 500}, want: "not ready"},
		"one with neither":             {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := stub(t, nil, tc.codes).discovery.Ready(t.Context())
			if tc.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestNamespacedKindsAreAllOrAnError covers an API group whose server is down: it is in the list of groups and
// temporarily missing from aggregated discovery, and must not be taken for absent.
func TestNamespacedKindsAreAllOrAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	answers := map[string]string{
		"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["delete","list"]},{"name":"nodes","kind":"Node","verbs":["list"]}]}`,
		"/apis": `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]}`,
		"/apis/example.com/v1": `{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[{"name":"widgets","namespaced":true,"kind":"Widget","verbs":["delete","list"]},{"name":"views","namespaced":true,"kind":"View","verbs":["get","list"]}]}`,
	}
	g.Expect(stub(t, answers, nil).namespacedKinds(t.Context())).To(ConsistOf(
		schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}))
	_, err := stub(t, answers, map[string]int{"/apis/example.com/v1": 503}).namespacedKinds(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("example.com/v1")))
}
