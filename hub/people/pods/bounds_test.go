package pods_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"fairlead.dev/hub/people/pods"
)

// TestAMemberThatNeverEndsIsReadToABound has a member answer as none does that is honest: with page after page, of few objects each.
func TestAMemberThatNeverEndsIsReadToABound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		padding  int
		resource string
		pages    int
	}{
		"large pages of pods":        {padding: 8 << 10, resource: "/pods", pages: 9},
		"small pages of pods":        {padding: 1, resource: "/pods", pages: 25},
		"large pages of in-betweens": {padding: 8 << 10, resource: "/replicasets", pages: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var pages atomic.Int32
			padding := strings.Repeat("x", c.padding)
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				const owned = `"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"a","controller":true}]`
				switch {
				case strings.HasSuffix(r.URL.Path, "/web"):
					_, _ = fmt.Fprint(w, `{"metadata":{"uid":"web"},"spec":{}}`)
				case !strings.HasSuffix(r.URL.Path, c.resource):
					_, _ = fmt.Fprintf(w, `{"items":[{"metadata":{"name":"one",%s}}]}`, owned)
				case pages.Add(1) > 200:
					http.Error(w, "this test has seen enough", http.StatusTeapot)
				default:
					_, _ = fmt.Fprintf(w, `{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"p-%d","annotations":{"a":"%s"},%s}}]}`, pages.Load(), padding, owned)
				}
			}))
			defer hub.Close()
			members, err := pods.NewMembers(&rest.Config{Host: hub.URL})
			g.Expect(err).NotTo(HaveOccurred())
			members.ReadAtMost(64 << 10)
			found := members.FindIn(t.Context(), web(), "edge-1")
			g.Expect(pages.Load()).To(BeNumerically("<=", c.pages))
			g.Expect(found.Err()).NotTo(HaveOccurred())
			g.Expect(found.More).To(BeTrue())
		})
	}
}
