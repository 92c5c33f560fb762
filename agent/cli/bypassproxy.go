package cli

import (
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// serviceAccountToken is the path of the token with which a pod authenticates to the API server of its own cluster.
const serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// bypassProxy makes a pod reach the API server of its own cluster without a proxy. The proxy that an agent is given
// is the way out to its hub, and does not know addresses inside the cluster. A server named by a kubeconfig may be
// anywhere, so the kubeconfig and the environment apply. A configuration that uses no proxy anyway is left unchanged,
// since its connections are shared.
func bypassProxy(config *rest.Config) *rest.Config {
	if config.BearerTokenFile != serviceAccountToken || config.Proxy != nil || len(proxySettings()) == 0 {
		return config
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // That is how none is said.
	return config
}
