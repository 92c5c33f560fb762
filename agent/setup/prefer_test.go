package setup

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestAnswersAreAskedToBeShort(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	line := &slowly{clock: clocktesting.NewFakeClock(time.Now())}
	client, err := rest.HTTPClientFor(brief(&rest.Config{Host: "https://hub", Transport: line}))
	g.Expect(err).NotTo(HaveOccurred())
	const works, clusters = "apis/work.karmada.io/v1alpha1/namespaces/es-edge-1/works", "apis/cluster.karmada.io/v1alpha1/clusters"
	for _, tc := range []struct{ method, path, accept, prefers string }{
		{http.MethodPatch, works + "/web/status", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "return=minimal"},
		{http.MethodPatch, works + "/web/status", "application/json", ""},
		{http.MethodGet, works + "/web", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ""},
		{http.MethodGet, works + "?watch=true", "application/json", "observed-spec=omit"},
		{http.MethodGet, works + "?limit=100", "application/json", ""},
		{http.MethodGet, clusters + "?watch=true", "application/json", ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tc.method, "https://hub/"+tc.path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Accept", tc.accept)
		response, err := client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(line.asked[len(line.asked)-1].Get("Prefer")).To(Equal(tc.prefers))
	}
}
