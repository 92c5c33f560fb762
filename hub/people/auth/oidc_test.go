package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheIssuerSendsBrowsersBackToANameOfOurs(t *testing.T) {
	t.Parallel()
	certified := func(host string) error {
		if host == "hub.example.com" || host == "2001:db8::1" {
			return nil
		}
		return errors.New("the certificate is for another")
	}
	const named = "https://proxy.example.com/signin/oidc/callback"
	for name, test := range map[string]struct{ flag, host, want string }{
		"the name that the browser calls":    {"", "hub.example.com", "https://hub.example.com/signin/oidc/callback"},
		"with its port":                      {"", "hub.example.com:8443", "https://hub.example.com:8443/signin/oidc/callback"},
		"an address":                         {"", "[2001:db8::1]:8443", "https://[2001:db8::1]:8443/signin/oidc/callback"},
		"the operator's, whatever is called": {named, "hub-0.internal:8443", named},
		"another name":                       {"", "evil.example", ""},
		"another name before ours":           {"", "evil.example/@hub.example.com", ""},
		"another name after ours":            {"", "hub.example.com@evil.example", ""},
		"a port that is none":                {"", "hub.example.com:evil", ""},
		"a query":                            {"", "hub.example.com?x", ""},
		"nobody":                             {"", "", ""},
	} {
		g := NewWithT(t)
		s := &SignIn{Options: Options{RedirectURL: test.flag, Serves: certified}}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = test.host
		got, err := s.redirectURL(r)
		g.Expect(got).To(Equal(test.want), name)
		g.Expect(err != nil).To(Equal(test.want == ""), name)
	}
}
