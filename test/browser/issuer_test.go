package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"

	"fairlead.dev/test/issuer"
)

// atIssuer signs somebody in at an issuer, and out again at both. The dashboard is called localhost here, so that the
// issuer, which is an address, is another site: a browser shows the cookie of a session to pages of its own site only.
func atIssuer(t *testing.T, b *browser, i *issuer.Issuer) {
	t.Helper()
	g := NewWithT(t)
	at := strings.Replace(b.show.URL, "127.0.0.1", "localhost", 1)
	i.Allow(at + "/signin/oidc/callback")
	i.SignIn("anna", "shoppers")
	const button = `a[href^="/signin/oidc"]`
	b.do("opening a page", chromedp.Navigate(at+"/applications?q=check"), chromedp.WaitVisible(button))
	b.shots("signin-issuer")
	b.accessible("signin-issuer")
	b.do("signing in at the issuer", chromedp.Click(button), chromedp.WaitVisible("header.top"))
	b.is("going where one wanted to", `location.origin + location.pathname + location.search == "`+at+`/applications?q=check"`)
	b.says("sso:anna")
	b.says("checkout")
	before := len(i.SignedOut())
	b.do("signing out", chromedp.Submit(`form[action="/signout"] button`), chromedp.WaitVisible(button))
	b.is("being asked to sign in", `location.origin + location.pathname == "`+at+`/signin"`)
	g.Expect(i.SignedOut()).To(HaveLen(before + 1))
	b.do("opening a page", chromedp.Navigate(at+"/applications"), chromedp.WaitVisible(button))

	i.SignIn("")
	b.do("being refused by the issuer", chromedp.Click(button), chromedp.WaitVisible(".notice.bad"))
	b.says("access_denied")
	b.forgive() // it says that the answer was 403
	b.visit("/")
	b.leave(at, i.URL)
	b.clean()
}

// leave drops what was loaded from these sites, to which the test went.
func (b *browser) leave(sites ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var foreign []string
	for _, url := range b.foreign {
		own := false
		for _, site := range sites {
			own = own || strings.HasPrefix(url, site+"/")
		}
		if !own {
			foreign = append(foreign, url)
		}
	}
	b.foreign = foreign
}
