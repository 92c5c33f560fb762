package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"fairlead.dev/test/issuer"
	"fairlead.dev/test/showcase"
)

// pages are all pages, with a text of each.
func pages() map[string][2]string {
	return map[string][2]string{
		"overview":            {"/", "What is failing, and why"},
		"clusters":            {"/clusters", "rotterdam"},
		"cluster":             {"/clusters/hamburg", "What was sent there"},
		"cluster-joining":     {"/clusters/ship-17", "How far it is"},
		"applications":        {"/applications", "checkout"},
		"application":         {"/applications/shop/web-deployment?cluster=hamburg&show=diff", "replicas: 3"},
		"application-failing": {"/applications/shop/checkout-deployment", "must be between 1 and 65535"},
		"rollouts":            {"/rollouts", "wave 1/2 north"},
		"rollout":             {"/rollouts/shop/web-deployment?from=2&to=3", "shop/web:2.0"},
		"policies":            {"/policies", "no-such-thing"},
		"policy":              {"/policies/shop/pay", "What it matched"},
		"policy-nothing":      {"/policies/lab/forgotten", "It matched nothing"},
		"join":                {"/join", "Make the command"},
		"question":            {"/clusters/bremen/cordon", "Nothing new is sent to this cluster"},
	}
}

// TestPages tests everything with one hub, because starting an API server takes seconds.
func TestPages(t *testing.T) {
	chromium(t)
	i := issuer.Start(t)
	i.SignIn("anna", "shoppers")
	show, _ := showcase.StartWithIssuer(t, i)
	b := open(t, show)
	admin := show.Token(t, "admin", "", showcase.Everything())

	t.Run("signing in is refused without a token that is good", func(t *testing.T) {
		b.tb = t
		b.visit("/clusters?q=ham")
		b.shots("signin")
		b.accessible("signin")
		b.do("signing in", chromedp.SetValue("#token", "not-a-token"), chromedp.Submit("#token"), chromedp.WaitVisible(".notice.bad"))
		b.says("The hub does not accept this token")
		b.forgive() // a 403 is logged to the console
		b.do("signing in", chromedp.SetValue("#token", admin), chromedp.Submit("#token"), chromedp.WaitVisible("header.top"))
		b.is("going where one wanted to", `location.pathname + location.search == "/clusters?q=ham"`)
		b.clean()
	})
	for name, p := range pages() {
		t.Run(name, func(t *testing.T) {
			b.tb = t
			b.visit(p[0])
			b.says(p[1])
			if name != "question" && name != "join" {
				b.is("being live", `document.getElementById("live").classList.contains("on")`)
			}
			b.shots(name)
			b.accessible(name)
			b.clean()
		})
	}
	t.Run("live", func(t *testing.T) { b.tb = t; live(t, b) })
	t.Run("actions", func(t *testing.T) { b.tb = t; actions(t, b) })
	t.Run("rollout", func(t *testing.T) { b.tb = t; rollout(t, b) })
	t.Run("joining", func(t *testing.T) { b.tb = t; joining(t, b) })
	t.Run("signing in at an issuer", func(t *testing.T) {
		b.tb = t
		atIssuer(t, b, i)
	})
	t.Run("signing out, and in with few rights", func(t *testing.T) {
		b.tb = t
		b.do("signing out", chromedp.Submit(`form[action="/signout"] button`), chromedp.WaitVisible("#token"))
		b.visit("/applications")
		b.is("having to sign in again", `location.pathname == "/signin"`)
		b.signIn(show.Token(t, "of-the-shop", "shop", showcase.Reads()...))
		b.visit("/applications")
		b.says("checkout")
		b.is("seeing nothing of others", `!document.querySelector("table").innerText.includes("probe")`)
		b.visit("/clusters")
		b.says("You may not see this")
		b.forgive()
		b.visit("/policies/shop/pay")
		b.is("not being offered what is not allowed", `![...document.querySelectorAll(".actions a")].length`)
		b.clean()
	})
	t.Run("what is in members", func(t *testing.T) { b.tb = t; reach(t, b, admin) })
}
