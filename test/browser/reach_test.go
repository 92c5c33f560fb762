package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fairlead.dev/test/reachable"
)

// reach opens pods, logs and a terminal in a dashboard with a connection to the member hamburg. It uses the session of
// the other dashboard: cookies belong to hosts, not ports.
func reach(t *testing.T, b *browser, token string) {
	t.Helper()
	hub := reachable.New(t, "hamburg", "shop", "web", reachable.InFrontOf(t, b.show.Hub.Config))
	hub.Run("web-1", "rs-web")
	hub.Write("web-1", "<b>first</b>")
	before := b.show
	through := *before
	_, through.URL = before.ServeThrough(t, hub.URL)
	b.show = &through
	defer func() { b.show = before }()
	b.signIn(token)

	b.visit("/applications/shop/web-deployment")
	b.do("choosing Pods", chromedp.Click(`//a[contains(@class,"button") and normalize-space()="Pods"]`, chromedp.BySearch), chromedp.WaitVisible("#f-pods"))
	b.says("web-1")
	b.says("bremen is not connected: line lost 12s ago")
	b.shots("pods")
	b.accessible("pods")

	b.do("choosing logs", chromedp.Click(`//td//a[normalize-space()="logs"]`, chromedp.BySearch), chromedp.WaitVisible("#log"))
	b.says("[hamburg/web-1] <b>first</b>")
	hub.Write("web-1", "second\x1b[31m")
	b.says("[hamburg/web-1] second")
	b.shots("logs")
	b.accessible("logs")

	b.visit("/applications/shop/web-deployment/terminal?cluster=hamburg&pod=web-1&container=app")
	b.do("running a command", chromedp.Click(`#terminal-form button`), chromedp.WaitVisible("#terminal"))
	b.says("Connected.")
	b.do("typing", chromedp.SendKeys("#terminal", "hello"))
	b.says("HELLO")
	// What is said back goes to the beginning of the line, over its first letters, a step back, and over the last of them.
	b.do("typing more", chromedp.SendKeys("#terminal", kb.Enter+"ab"), chromedp.Evaluate(`document.getElementById("terminal").dispatchEvent(Object.assign(new ClipboardEvent("paste", {
		clipboardData: (() => { const d = new DataTransfer(); d.setData("text", "\u001b[31m\bx\u001b[0m\u202e"); return d; })(), cancelable: true })))`, nil))
	b.is("writing over what was there", `document.getElementById("terminal").textContent.trimEnd() === "AXLLO"`)
	b.shots("terminal")
	b.accessible("terminal")
	b.clean()
}
