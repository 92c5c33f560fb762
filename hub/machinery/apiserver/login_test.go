package apiserver

import (
	"crypto/rand"
	"crypto/rsa"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"fairlead.dev/test/issuer"
)

// knowing returns the flags with which an API trusts an OIDC issuer.
func knowing(i *issuer.Issuer) []string {
	return []string{
		"--oidc-issuer-url=" + i.URL, "--oidc-client-id=fairlead", "--oidc-ca-file=" + i.CAFile,
		"--oidc-username-prefix=sso:", "--oidc-groups-claim=groups", "--oidc-groups-prefix=sso:", "--oidc-required-claim=aud=fairlead",
	}
}

// knowsPeople checks that an API that was started while the issuer is down accepts its tokens once it is back, and no
// others.
func knowsPeople(t *testing.T, i *issuer.Issuer, p *Process) {
	t.Helper()
	g := NewWithT(t)
	who := func(token string) (authenticationv1.UserInfo, error) {
		config := rest.AnonymousClientConfig(p.Config())
		config.BearerToken = token
		c, err := authenticationclient.NewForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		review, err := c.SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		return review.Status.UserInfo, err
	}
	honest := i.Claims("anna", []string{"operators"}, time.Hour)
	good := i.Sign(honest)
	_, err := who(good)
	g.Expect(err).To(HaveOccurred())

	i.SetDown(false)
	g.Eventually(func(g Gomega) {
		user, err := who(good)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(user.Username).To(Equal("sso:anna"))
		g.Expect(user.Groups).To(ContainElement("sso:operators"))
	}).WithTimeout(time.Minute).Should(Succeed())
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	g.Expect(err).NotTo(HaveOccurred())
	for why, token := range map[string]string{
		"another signed it":     issuer.SignBy(other, honest),
		"it is for another one": i.Sign(honest.With("aud", "other")),
		"it is over":            i.Sign(honest.With("exp", time.Now().Add(-time.Hour).Unix())),
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
