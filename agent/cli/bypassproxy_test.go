package cli

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
)

// TestAPodReachesItsOwnClusterWithoutAProxy covers an agent in a pod that reaches its hub through a proxy, which
// cannot reach addresses inside the cluster.
func TestAPodReachesItsOwnClusterWithoutAProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	g := NewWithT(t)
	inPod := bypassProxy(&rest.Config{Host: "https://10.96.0.1:443", BearerTokenFile: serviceAccountToken})
	g.Expect(inPod.Proxy).NotTo(BeNil())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, inPod.Host+"/version", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(inPod.Proxy(request)).To(BeNil())

	g.Expect(bypassProxy(&rest.Config{Host: "https://api.example:6443"}).Proxy).To(BeNil(), "a kubeconfig goes as the environment says")
	t.Setenv("HTTPS_PROXY", "")
	t.Setenv("https_proxy", "")
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	g.Expect(bypassProxy(&rest.Config{Host: "https://10.96.0.1:443", BearerTokenFile: serviceAccountToken}).Proxy).To(BeNil(), "its connections are shared")
}
