package hostile

import (
	"context"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
)

// TestProfilesAreForAdministrators requests profiles from a hub's API with `hub serve --profiling`: they reveal memory
// contents, including Secrets.
func TestProfilesAreForAdministrators(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	admin := newIntruder(t, w.api.Config)
	for _, path := range []string{"/debug/pprof/profile?seconds=1", "/debug/pprof/heap"} {
		code, profile := admin.get(t, path)
		g.Expect(code).To(Equal(http.StatusOK), path)
		g.Expect(profile).To(HavePrefix("\x1f\x8b"), "%s is no profile, which is compressed", path)
	}
	for name, who := range map[string]*intruder{
		"an agent":              newIntruder(t, w.agent(t, "edge-1")),
		"a tenant":              w.tenant(t, w.api.Namespace(t)),
		"somebody unknown":      newIntruder(t, rest.AnonymousClientConfig(w.api.Config)),
		"the bearer of a token": newIntruder(t, w.bearer(w.token(t, "profiled", nil).String())),
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{
				"/debug/pprof", "/debug/pprof/", "/debug/pprof/profile?seconds=1", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=2", "/debug/pprof/trace?seconds=1",
				"/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/flags/v",
			} {
				who.refused(t, http.MethodGet, path, "", nil)
			}
			who.refused(t, http.MethodPut, "/debug/flags/v", "10", nil)
		})
	}
}

// get sends a request and returns the response.
func (i *intruder) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.config.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := i.http.Do(request)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return response.StatusCode, string(read)
}
