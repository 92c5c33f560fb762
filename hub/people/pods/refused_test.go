package pods_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"fairlead.dev/hub/people/pods"
)

// TestLogsThatAreRefusedAreNotFollowedForEver: a user who may not read logs keeps no stream open.
func TestLogsThatAreRefusedAreNotFollowedForEver(t *testing.T) {
	t.Parallel()
	const pod = `{"items":[{"metadata":{"namespace":"shop","name":"web-1","uid":"web-1","ownerReferences":[{"kind":"Deployment","uid":"web","controller":true}]},` +
		`"spec":{"containers":[{"name":"app"}]},"status":{"containerStatuses":[{"name":"app","state":{"running":{}}}]}}]}`
	for name, c := range map[string]struct {
		refused string
		places  error
		want    string
		failed  int
	}{
		"the owner refuses the pods":        {refused: "pods", want: "edge-1: its owner says no; its logs are not followed any more", failed: 1},
		"the owner refuses their logs":      {refused: "log", want: "edge-1: its owner says no; its logs are not followed any more", failed: 1},
		"the hub refuses to say the places": {places: apierrors.NewForbidden(schema.GroupResource{}, "web", nil), want: "; the logs are not followed any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case path.Base(r.URL.Path) == c.refused:
					w.WriteHeader(http.StatusForbidden)
					_, _ = io.WriteString(w, `{"kind":"Status","reason":"Forbidden","message":"its owner says no"}`)
				case strings.HasSuffix(r.URL.Path, "/web"):
					_, _ = io.WriteString(w, `{"metadata":{"uid":"web"}}`)
				case r.URL.Query().Has("watch"), path.Base(r.URL.Path) == "log":
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				default:
					_, _ = io.WriteString(w, pod)
				}
			}))
			defer hub.Close()
			members, err := pods.NewMembers(&rest.Config{Host: hub.URL})
			g.Expect(err).NotTo(HaveOccurred())
			var mu sync.Mutex
			var said []string
			logs := pods.Logs{
				Members: members, App: web(), Options: pods.LogOptions{Follow: true}, Clock: hurried{began: time.Now()},
				Line: func(pods.LogLine) error { return nil },
				Say: func(cluster, text string) {
					mu.Lock()
					defer mu.Unlock()
					said = append(said, cluster+": "+text)
				},
				Places: func(context.Context) ([]string, error) { return []string{"edge-1"}, c.places },
			}
			ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
			defer cancel()
			failed, err := logs.Run(ctx, []string{"edge-1"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ctx.Err()).NotTo(HaveOccurred(), "it ended by itself")
			g.Expect(failed).To(Equal(c.failed))
			mu.Lock()
			defer mu.Unlock()
			g.Expect(said).NotTo(BeEmpty())
			g.Expect(said[len(said)-1]).To(ContainSubstring(c.want))
		})
	}
}
