package setup

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestAnswersToWritesAreAskedToBeShortWhereOnlyMetadataIsWanted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	line := &slowly{clock: clocktesting.NewFakeClock(time.Now())}
	client, err := rest.HTTPClientFor(brief(&rest.Config{Host: "https://hub", Transport: line}))
	g.Expect(err).NotTo(HaveOccurred())
	for _, tc := range []struct{ method, accept, prefers string }{
		{http.MethodPatch, "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "return=minimal"},
		{http.MethodPatch, "application/json", ""},
		{http.MethodGet, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tc.method, "https://hub/", http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Accept", tc.accept)
		response, err := client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(line.asked[len(line.asked)-1].Get("Prefer")).To(Equal(tc.prefers))
	}
}
