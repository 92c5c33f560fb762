package cli

import (
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// serviceAccountToken is the file of the token with which a pod authenticates to the API server of its own cluster.
const serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// bypassProxy has a pod reach the API server of its cluster without a proxy. The one that an agent is told of is the way out to its hub, and
// knows no address in the cluster. What a kubeconfig names may be anywhere, and goes as it and the environment say. A configuration
// that nothing would lead through a proxy is left as it is: its connections are shared.
func bypassProxy(config *rest.Config) *rest.Config {
	if config.BearerTokenFile != serviceAccountToken || config.Proxy != nil || len(proxySettings()) == 0 {
		return config
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // That is how none is said.
	return config
}
