package showcase

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/issuer"
	provider "fairlead.dev/test/issuer"
)

// StartWithIssuer starts a hub's API of the test's own, fills it, and serves the dashboard over TLS, as `hub serve` does.
// Both know the people of an issuer, with names and groups that begin with "sso:"; root is nobody. The group shoppers may look at what is in the namespace shop. The person
// who sits at the issuer is to be one of it. It returns the issuer as the dashboard knows it, too.
func StartWithIssuer(tb testing.TB, p *provider.Issuer) (*Showcase, *issuer.Issuer) {
	tb.Helper()
	secret := filepath.Join(tb.TempDir(), "secret")
	check(tb, os.WriteFile(secret, []byte(p.ClientSecret+"\n"), 0o600))
	o := issuer.Options{URL: p.URL, ClientID: p.ClientID, CAFile: p.CAFile, Clock: clock.RealClock{}}
	if p.ClientSecret != "" {
		o.ClientSecretFile = secret
	}
	known, err := issuer.New(o)
	check(tb, err)
	s := start(tb, authentication(tb, p), known)
	p.Allow(s.URL + "/signin/oidc/callback")
	check(tb, s.Client.Create(tb.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sso"}, Rules: Reads()}))
	check(tb, s.Client.Create(tb.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sso"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "sso"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "sso:shoppers"}},
	}))
	// The API server reads the issuer's keys at its own pace.
	check(tb, wait.PollUntilContextTimeout(tb.Context(), keysPoll, keysTimeout, true, func(context.Context) (bool, error) {
		page := provider.NewBrowser(tb, s.CAFile(), p.CAFile).Open(s.URL + "/signin/oidc?to=/applications")
		return strings.Contains(page.Text, "checkout"), nil
	}))
	return s, known
}

// The timeout for the API server to read the issuer's keys.
const (
	keysPoll    = time.Second
	keysTimeout = time.Minute
)

// authentication writes an AuthenticationConfiguration that trusts the issuer, and returns the file.
func authentication(tb testing.TB, p *provider.Issuer) string {
	tb.Helper()
	authority, err := os.ReadFile(p.CAFile)
	check(tb, err)
	prefixed := func(claim string) any { return map[string]any{"claim": claim, "prefix": "sso:"} }
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
		"jwt": []any{map[string]any{
			"issuer":              map[string]any{"url": p.URL, "certificateAuthority": string(authority), "audiences": []string{p.ClientID}},
			"userValidationRules": []any{map[string]any{"expression": "user.username != 'sso:root'", "message": "root is a person of nobody's"}},
			"claimMappings":       map[string]any{"username": prefixed("sub"), "groups": prefixed("groups")},
		}},
	})
	check(tb, err)
	file := filepath.Join(tb.TempDir(), "authentication.yaml")
	check(tb, os.WriteFile(file, raw, 0o600))
	return file
}
