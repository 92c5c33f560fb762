package requests_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/requests"
)

func TestRequestsAreCountedAsAnAPIServerNamesThem(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"GET /api/v1/namespaces/shop/configmaps/a":                                              "GET configmaps",
		"GET /api/v1/namespaces/shop/configmaps":                                                "LIST configmaps",
		"GET /api/v1/namespaces/shop":                                                           "GET namespaces",
		"GET /api/v1/namespaces":                                                                "LIST namespaces",
		"PUT /api/v1/namespaces/shop/finalize":                                                  "PUT namespaces/finalize",
		"GET /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-a/works?watch=true":           "WATCH works",
		"PATCH /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-a/works/web/status":         "PATCH works/status",
		"DELETE /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-a/works":                   "DELETECOLLECTION works",
		"DELETE /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-a/works/web":               "DELETE works",
		"POST /apis/cluster.karmada.io/v1alpha1/clusters":                                       "POST clusters",
		"PATCH /apis/cluster.karmada.io/v1alpha1/clusters/edge-1/status":                        "PATCH clusters/status",
		"PUT /apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/edge-1?timeout=10s": "PUT leases",
		"GET /readyz": "GET /readyz",
		"GET /apis":   "GET /apis",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var seen requests.Counter
			method, path, _ := strings.Cut(request, " ")
			do(t, &seen, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody), http.StatusOK, "")
			g.Expect(seen.Counts().Requests).To(Equal(map[string]int64{want: 1}))
		})
	}
}

func TestBytesConflictsAndRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var seen requests.Counter
	const path = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-a/works/web"
	patch := func(kind string, code int, answer string) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, path, strings.NewReader("12345"))
		request.Header.Set("Content-Type", kind)
		do(t, &seen, request, code, answer)
	}
	patch("application/merge-patch+json", http.StatusOK, "123")
	before := seen.Counts()
	patch("application/apply-patch+yaml", http.StatusConflict, "1")
	patch("application/merge-patch+json", http.StatusTooManyRequests, "")
	g.Expect(before.Requests).To(Equal(map[string]int64{"PATCH works": 1}), "what was told before stays as it was")
	got := seen.Counts()
	g.Expect(got.Requests).To(Equal(map[string]int64{"PATCH works": 2, "APPLY works": 1, "409 works": 1, "429 works": 1}))
	g.Expect(got.BodiesSent).To(Equal(map[string]int64{"PATCH": 15}), "API servers count the bytes of both kinds as one")
	g.Expect(got.BodiesReceived).To(Equal(map[string]int64{"PATCH": 4}))
	g.Expect(got.Conflicts).To(Equal(int64(1)))
	g.Expect(got.Refused).To(Equal(int64(1)))
}

// do sends a request to a server with a fixed response, and reads it.
func do(t *testing.T, seen *requests.Counter, request *http.Request, code int, answer string) {
	t.Helper()
	g := NewWithT(t)
	transport := seen.Wrap(roundTripper(func(*http.Request) *http.Response {
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(answer))}
	}))
	response, err := transport.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
