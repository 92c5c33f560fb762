package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"

	"fairlead.dev/test/issuer"
)

// atIssuer signs a user in at an issuer, and out again at both. The dashboard is opened as localhost, so that the
// issuer, which has an IP address, is another site: a browser sends the cookie of a session only to pages of its own
// site.
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
	b.forgive() // a 403 is logged to the console
	b.visit("/")
	b.leave(at, i.URL)
	b.clean()
}

// leave drops the recorded requests to these sites, which the test has visited.
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
