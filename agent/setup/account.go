package setup

import (
	"fmt"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// CheckAccount validates the name of a ServiceAccount; an empty name means none.
func CheckAccount(name string) error {
	if name == "" {
		return nil
	}
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Errorf("--as-service-account %q is not a valid name of a ServiceAccount: %s", name, strings.Join(wrong, "; "))
	}
	return nil
}

// asAccounts returns a client on the same connections that makes requests about namespaced objects as the
// ServiceAccount name of their namespace, which the agent must be allowed to impersonate. The API server adds the
// groups of such an account. All other requests, including those about Namespaces, are the agent's own.
func asAccounts(c *http.Client, config *rest.Config, name string) (*http.Client, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the member: %w", err)
	}
	out := *c
	out.Transport = accounts{next: c.Transport, prefix: strings.TrimSuffix(server.Path, "/"), name: name}
	return &out, nil
}

// accounts is a transport that evaluates the path like the API server, so that no request about a namespaced object
// escapes impersonation, whoever makes it.
type accounts struct {
	next         http.RoundTripper
	prefix, name string
}

// RoundTrip implements http.RoundTripper.
func (a accounts) RoundTrip(request *http.Request) (*http.Response, error) {
	if namespace := namespaceOf(strings.TrimPrefix(request.URL.Path, a.prefix)); namespace != "" {
		request = request.Clone(request.Context())
		request.Header.Set(authenticationv1.ImpersonateUserHeader, "system:serviceaccount:"+namespace+":"+a.name)
	}
	return a.next.RoundTrip(request)
}

// namespaceOf returns the namespace of the object that an API path is about; empty if there is none.
func namespaceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:] // api, version
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:] // apis, group, version
	default:
		return ""
	}
	// Namespaces are cluster-scoped, and so are their subresources, which the agent never requests.
	if parts[0] != "namespaces" || len(parts) < 3 {
		return ""
	}
	return parts[1]
}
