package setup

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
)

type recorded struct{ users []string }

func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	r.users = append(r.users, request.Header.Get("Impersonate-User"))
	return nil, http.ErrAbortHandler
}

// What is in a namespace is the account's there, whatever the path says beside; all else is the agent's.
func TestNamespacedRequestsAreMadeAsTheAccountOfTheNamespace(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/api/v1/namespaces/shop/secrets/key":                 "system:serviceaccount:shop:tenant",
		"/api/v1/namespaces/shop/secrets":                     "system:serviceaccount:shop:tenant",
		"/apis/apps/v1/namespaces/shop/deployments/web":       "system:serviceaccount:shop:tenant",
		"/apis/apps/v1/namespaces/shop/deployments/web/scale": "system:serviceaccount:shop:tenant",
		"/api/v1/namespaces/shop":                             "",
		"/api/v1/namespaces":                                  "",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/a":   "",
		"/apis/example.com/v1/namespaces/shop":                "", // a cluster-scoped kind of that plural
		"/api":                                                "",
		"/apis/apps/v1":                                       "",
		"/readyz":                                             "",
	} {
		for _, prefix := range []string{"", "/k8s/clusters/c-1"} {
			t.Run(prefix+path, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				seen := &recorded{}
				c, err := asAccounts(&http.Client{Transport: seen}, &rest.Config{Host: "https://member.example.com" + prefix}, "tenant")
				g.Expect(err).NotTo(HaveOccurred())
				_, err = c.Get("https://member.example.com" + prefix + path) //nolint:bodyclose // there is no answer
				g.Expect(err).To(MatchError(http.ErrAbortHandler))
				g.Expect(seen.users).To(Equal([]string{want}))
			})
		}
	}
}

func TestCheckAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(CheckAccount("")).To(Succeed())
	g.Expect(CheckAccount("tenant")).To(Succeed())
	g.Expect(CheckAccount("shop:tenant")).To(MatchError(ContainSubstring(`--as-service-account "shop:tenant" is not a valid name of a ServiceAccount`)))
}
