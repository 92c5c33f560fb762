package issuer_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/hub/people/issuer"
	provider "fairlead.dev/test/issuer"
)

const back = "https://hub.example.com/signin/oidc/callback"

// start returns a provider, and an Issuer that is its client.
func start(t *testing.T, change func(*issuer.Options)) (*provider.Issuer, *issuer.Issuer, *clocktesting.FakeClock) {
	t.Helper()
	p := provider.Start(t, back)
	p.SetLife(24*time.Hour, true) // as if its clock were ahead
	clock := clocktesting.NewFakeClock(time.Now())
	o := issuer.Options{URL: p.URL, ClientID: p.ClientID, CAFile: p.CAFile, Clock: clock}
	if change != nil {
		change(&o)
	}
	i, err := issuer.New(o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p, i, clock
}

// attend goes to the provider as a browser does, and returns the parameters with which it is redirected back.
func attend(t *testing.T, p *provider.Issuer, i *issuer.Issuer) (issuer.Attempt, url.Values) {
	t.Helper()
	g := NewWithT(t)
	a, address, err := i.Begin(t.Context(), back)
	g.Expect(err).NotTo(HaveOccurred())
	to, err := url.Parse(provider.NewBrowser(t, p.CAFile).Step(address).Header.Get("Location"))
	g.Expect(err).NotTo(HaveOccurred())
	return a, to.Query()
}

func isAway(err error) bool {
	var away issuer.UnavailableError
	return errors.As(err, &away)
}

func TestAnIssuerMayBeLateOrGoAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, i, clock := start(t, nil)
	begin := func() error {
		_, _, err := i.Begin(t.Context(), back)
		return err
	}
	p.SetDown(true)
	g.Expect(isAway(begin())).To(BeTrue())
	p.SetDown(false)
	g.Expect(isAway(begin())).To(BeTrue(), "it is left alone for a while")
	clock.Step(3 * time.Second)
	g.Expect(begin()).To(Succeed())
	p.SetDown(true)
	g.Expect(begin()).To(Succeed(), "what it announced is known")
	clock.Step(time.Hour)
	g.Expect(begin()).To(Succeed(), "and kept")

	p.SetDown(false)
	a, came := attend(t, p, i)
	p.SetDown(true)
	_, err := i.Finish(t.Context(), a, came)
	g.Expect(isAway(err)).To(BeTrue())
	p.SetDown(false)
	tokens, err := i.Finish(t.Context(), a, came)
	g.Expect(err).NotTo(HaveOccurred(), "the code is good still")
	p.SetDown(true)
	_, err = i.Renew(t.Context(), tokens)
	g.Expect(isAway(err)).To(BeTrue())
}

func TestRenewingIsForTheSamePerson(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, i, _ := start(t, func(o *issuer.Options) { o.Scopes = []string{"openid", "groups"} })
	_, address, err := i.Begin(t.Context(), back)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(address).To(ContainSubstring("scope=openid+groups&"))
	a, came := attend(t, p, i)
	tokens, err := i.Finish(t.Context(), a, came)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tokens.Subject).To(Equal("anna"))
	g.Expect(i.SignOutURL(t.Context(), tokens, "https://hub.example.com/signin")).To(HavePrefix(p.URL + "/logout?client_id=fairlead&id_token_hint="))
	renewed, err := i.Renew(t.Context(), tokens)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(renewed.ID).NotTo(Equal(tokens.ID))
	var no issuer.RefusedError
	_, err = i.Renew(t.Context(), tokens)
	g.Expect(errors.As(err, &no)).To(BeTrue(), "the refresh token was used")
	p.SetIDToken(func(honest provider.Claims) string { return p.Sign(honest.With("sub", "bert")) })
	_, err = i.Renew(t.Context(), renewed)
	g.Expect(errors.As(err, &no)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring("somebody else")))
}

// TestAClientSecretMayChange has the hub find the new secret, without ending anybody's session.
func TestAClientSecretMayChange(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "secret")
	g.Expect(os.WriteFile(file, []byte("old\n"), 0o600)).To(Succeed())
	p, i, _ := start(t, func(o *issuer.Options) { o.ClientSecretFile = file })
	p.ClientSecret = "new & other"
	a, came := attend(t, p, i)
	_, err := i.Finish(t.Context(), a, came)
	g.Expect(err).To(MatchError(ContainSubstring("invalid_client")))
	g.Expect(isAway(err)).To(BeTrue(), "it is not for the person to mend")
	g.Expect(os.WriteFile(file, []byte(p.ClientSecret), 0o600)).To(Succeed())
	_, err = i.Finish(t.Context(), a, came)
	g.Expect(err).NotTo(HaveOccurred())
}
