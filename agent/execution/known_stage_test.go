package execution_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// busyAbout makes requests for one object fail as a busy API server does.
func busyAbout(name string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(req.URL.Path, "/"+name) {
				return next.RoundTrip(req)
			}
			status := apierrors.NewServiceUnavailable("starting").Status()
			status.APIVersion, status.Kind = "v1", "Status"
			body, err := json.Marshal(status)
			return &http.Response{
				StatusCode: http.StatusServiceUnavailable, Request: req, Body: io.NopCloser(bytes.NewReader(body)),
				Header: http.Header{"Content-Type": {"application/json"}},
			}, err
		})
	}
}

// TestTheSilenceAboutAManifestIsNoFailureAfterARestart restarts an agent whose Work was reported as applied; the
// member then does not answer for one manifest and refuses the other.
func TestTheSilenceAboutAManifestIsNoFailureAfterARestart(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	config := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config
	work := w.work(t, "settings", w.configMap("one", nil), w.configMap("two", map[string]string{"not a key": "1"}))
	told := plan.Condition(make([]plan.Outcome, 2))
	told.ObservedGeneration, told.LastTransitionTime = work.Generation, metav1.Now()
	work.Status.Conditions = []metav1.Condition{told}
	g.Expect(w.client.Status().Update(t.Context(), work)).To(Succeed())
	member := rest.CopyConfig(config)
	member.Wrap(busyAbout("one"))
	w.startBetween(t, config, member, native.New())
	message := w.isNotApplied(t, work)
	g.Expect(message).To(HavePrefix("Failed to apply all manifests (1/2): ConfigMap " + w.member + "/two: "))
	g.Expect(message).NotTo(ContainSubstring("/one"))
}
