package apiserver

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
)

// issuer is a provider of OpenID Connect.
type issuer struct {
	*httptest.Server

	key  *rsa.PrivateKey
	ca   string
	down atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	g := NewWithT(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	g.Expect(err).NotTo(HaveOccurred())
	i := &issuer{key: key, ca: filepath.Join(t.TempDir(), "issuer.crt")}
	answer := func(body func() any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if i.down.Load() {
				http.Error(w, "down", http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body()) // who asked is gone otherwise
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/.well-known/openid-configuration", answer(func() any {
		return map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		}
	}))
	mux.Handle("/keys", answer(func() any {
		return map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": "AQAB",
		}}}
	}))
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	g.Expect(os.WriteFile(i.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw}), 0o600)).To(Succeed())
	return i
}

// token returns what the issuer would give a person; the key signs it.
func (i *issuer) token(g Gomega, key *rsa.PrivateKey, audience string, expires time.Time) string {
	encode := func(part any) string {
		data, err := json.Marshal(part)
		g.Expect(err).NotTo(HaveOccurred())
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := encode(map[string]any{"alg": "RS256", "kid": "one"}) + "." + encode(map[string]any{
		"iss": i.URL, "aud": audience, "sub": "anna", "groups": []string{"operators"}, "iat": time.Now().Unix(), "exp": expires.Unix(),
	})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	g.Expect(err).NotTo(HaveOccurred())
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// TestPeopleOfAnIssuerAreKnown starts the API while the issuer is down: certificates go on, and tokens do once it is back.
func TestPeopleOfAnIssuerAreKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newIssuer(t)
	i.down.Store(true)
	e := embedded(t)
	e.Flags = []string{
		"--oidc-issuer-url=" + i.URL, "--oidc-client-id=fairlead", "--oidc-ca-file=" + i.ca,
		"--oidc-username-prefix=sso:", "--oidc-groups-claim=groups", "--oidc-groups-prefix=sso:", "--oidc-required-claim=aud=fairlead",
	}
	p, err := e.Start(t.Context())
	g.Expect(err).NotTo(HaveOccurred(), "an issuer that is down keeps nobody else out")
	defer p.Stop()
	who := func(token string) (authenticationv1.UserInfo, error) {
		config := rest.AnonymousClientConfig(p.Config())
		config.BearerToken = token
		c, err := authenticationclient.NewForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		review, err := c.SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		return review.Status.UserInfo, err
	}
	soon := time.Now().Add(time.Hour)
	good := i.token(g, i.key, "fairlead", soon)
	_, err = who(good)
	g.Expect(err).To(HaveOccurred())

	i.down.Store(false)
	g.Eventually(func(g Gomega) {
		user, err := who(good)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(user.Username).To(Equal("sso:anna"))
		g.Expect(user.Groups).To(ContainElement("sso:operators"))
	}).WithTimeout(time.Minute).Should(Succeed())
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	g.Expect(err).NotTo(HaveOccurred())
	for why, token := range map[string]string{
		"another signed it":     i.token(g, other, "fairlead", soon),
		"it is for another one": i.token(g, i.key, "other", soon),
		"it is over":            i.token(g, i.key, "fairlead", time.Now().Add(-time.Hour)),
	} {
		_, err := who(token)
		g.Expect(err).To(HaveOccurred(), why)
	}
}

func TestAnIssuerWithoutAClientIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := embedded(t)
	e.Flags = []string{"--oidc-issuer-url=https://issuer.example.com"}
	_, err := e.Start(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("oidc-client-id")))
}
