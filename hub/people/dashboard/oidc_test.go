package dashboard_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	relying "fairlead.dev/hub/people/issuer"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/issuer"
	"fairlead.dev/test/showcase"
)

// login is a hub whose users sign in at an OIDC issuer.
type login struct {
	*showcase.Showcase

	issuer *issuer.Issuer
	// known is the issuer as configured in hubs.
	known *relying.Issuer
	ca    string
}

// shared is a hub at which anna signs in. Each test changes only what it is about, and nothing that the other one looks
// at.
var shared cluster.Kept[*login]

// startLogin starts a hub at which anna signs in.
func startLogin(tb testing.TB) *login {
	tb.Helper()
	i := issuer.Start(tb)
	i.ClientSecret = "of the client"
	i.SignIn("anna", "shoppers")
	show, known := showcase.StartWithIssuer(tb, i)
	return &login{Showcase: show, issuer: i, known: known, ca: show.CAFile()}
}

func (l *login) browser(t *testing.T) *issuer.Browser {
	t.Helper()
	return issuer.NewBrowser(t, l.ca, l.issuer.CAFile)
}

// in returns a browser in which the issuer's current user has signed in.
func (l *login) in(t *testing.T) *issuer.Browser {
	t.Helper()
	b := l.browser(t)
	p := b.Open(l.URL + "/signin/oidc")
	NewWithT(t).Expect(p.Code).To(Equal(http.StatusOK), p.Text)
	NewWithT(t).Expect(p.URL.Path).To(Equal("/"), p.Text)
	return b
}

// host returns the host of the dashboard.
func (l *login) host() string { return strings.TrimPrefix(l.URL, "https://") }

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// TestIssuer signs users in at an issuer, honest and dishonest ones, all on one API server.
func TestIssuer(t *testing.T) {
	t.Parallel()
	l := shared.Take(t, startLogin)
	t.Run("people sign in, see what the API lists for their groups, and sign out at both", func(t *testing.T) { l.walk(t) })
	t.Run("a sign-in that is not the browser's own does not count", func(t *testing.T) { l.foreign(t) })
	t.Run("a token that is not the issuer's for us, now, does not count", func(t *testing.T) { l.lies(t) })
	t.Run("nobody is led elsewhere", func(t *testing.T) { l.elsewhere(t) })
	t.Run("behind a proxy with another name, whichever hub finishes the sign-in", func(t *testing.T) { l.proxied(t) })
	t.Run("an ID token is renewed, once for many pages, until the issuer says no", func(t *testing.T) { l.renewal(t) })
	t.Run("without the issuer there are still tokens", func(t *testing.T) { l.down(t) })
}

func (l *login) walk(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.issuer.SignIn("anna", "shoppers")
	b := l.browser(t)
	p := b.Follow(l.URL + "/applications?q=check") // a link in an email
	g.Expect(p.URL.Path).To(Equal("/signin"))
	g.Expect(p.Text).To(ContainSubstring("Sign in with " + strings.TrimPrefix(l.issuer.URL, "https://")))
	link := regexp.MustCompile(`href="(/signin/oidc[^"]*)"`).FindStringSubmatch(p.Text)
	g.Expect(link).To(HaveLen(2), p.Text)
	p = b.Open(l.URL + strings.ReplaceAll(link[1], "&amp;", "&"))
	g.Expect(p.URL.RequestURI()).To(Equal("/applications?q=check"), p.Text)
	g.Expect(p.Text).To(And(ContainSubstring("sso:anna"), ContainSubstring("checkout"), Not(ContainSubstring("simulation"))))
	p = b.Open(l.URL + "/applications")
	g.Expect(p.Text).To(And(ContainSubstring("checkout"), Not(ContainSubstring("simulation"))), "of its namespace only")
	g.Expect(b.Open(l.URL + "/clusters").Code).To(Equal(http.StatusForbidden))
	g.Expect(b.Cookies[l.host()]).To(HaveLen(1), "the attempt is used up")

	csrf := csrfField.FindStringSubmatch(p.Text)
	g.Expect(csrf).To(HaveLen(2))
	g.Expect(b.Submit(l.URL+"/signout", url.Values{"csrf": {"guessed"}}).Code).To(Equal(http.StatusForbidden))
	stolen := b.Cookies[l.host()]["__Host-fairlead"]
	before := len(l.issuer.SignedOut())
	p = b.Submit(l.URL+"/signout", url.Values{"csrf": {csrf[1]}})
	g.Expect(p.URL.Path).To(Equal("/signin"))
	g.Expect(p.URL.Host).To(Equal(l.host()))
	g.Expect(l.issuer.SignedOut()).To(HaveLen(before + 1))
	g.Expect(b.Cookies[l.host()]).To(BeEmpty())
	b.Cookies[l.host()]["__Host-fairlead"] = stolen
	g.Expect(b.Open(l.URL + "/applications").URL.Path).To(Equal("/signin"))

	l.issuer.SignIn("")
	p = l.browser(t).Open(l.URL + "/signin/oidc")
	g.Expect(p.Code).To(Equal(http.StatusForbidden))
	g.Expect(p.Text).To(And(ContainSubstring("access_denied"), Not(ContainSubstring("<b>nobody"))))
	l.issuer.SignIn("bert")
	p = l.in(t).Open(l.URL + "/applications")
	g.Expect(p.Text).To(And(ContainSubstring("sso:bert"), Not(ContainSubstring("checkout"))), "of no group")
}

func (l *login) foreign(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.issuer.SignIn("anna", "shoppers")
	// begun goes as far as the issuer, and returns where that redirects the browser.
	begun := func(b *issuer.Browser) *url.URL {
		p := b.Step(l.URL + "/signin/oidc")
		g.Expect(p.Code).To(Equal(http.StatusSeeOther), p.Text)
		back, err := url.Parse(b.Step(p.Header.Get("Location")).Header.Get("Location"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(back.Host).To(Equal(l.host()))
		return back
	}
	refused := func(b *issuer.Browser, at *url.URL, why string) {
		t.Helper()
		p := b.Follow(at.String())
		g.Expect(p.Code).To(Equal(http.StatusForbidden), why)
		g.Expect(p.Text).To(ContainSubstring(why))
		g.Expect(b.Cookies[l.host()]).NotTo(HaveKey("__Host-fairlead"))
	}
	with := func(at *url.URL, key, value string) *url.URL {
		u, query := *at, at.Query()
		query.Set(key, value)
		u.RawQuery = query.Encode()
		return &u
	}
	const own = "not begun in this browser"
	attacker, victim := l.browser(t), l.browser(t)
	hers := begun(attacker)
	refused(victim, hers, own) // nobody is signed in as somebody else
	theirs := begun(victim)
	refused(victim, with(theirs, "state", "another"), own)
	refused(victim, with(theirs, "state", hers.Query().Get("state")), own)
	// The attacker's code in the victim's own attempt: it was requested with another challenge.
	refused(victim, with(theirs, "code", hers.Query().Get("code")), "invalid_grant")
	theirs = begun(victim)
	refused(victim, with(theirs, "iss", "https://other.example.com"), "another issuer")
	theirs = begun(victim)
	refused(victim, with(theirs, "code", ""), "no code")

	b := l.browser(t)
	back := begun(b)
	kept := b.Cookies[l.host()]
	g.Expect(kept).NotTo(BeEmpty())
	copied := l.browser(t)
	copied.Cookies[l.host()] = map[string]*http.Cookie{}
	for name, cookie := range kept {
		copied.Cookies[l.host()][name] = cookie
		// The cookie of an attempt is not a session.
		asSession := l.browser(t)
		asSession.Cookies[l.host()] = map[string]*http.Cookie{"__Host-fairlead": {Name: "__Host-fairlead", Value: cookie.Value}}
		g.Expect(asSession.Open(l.URL + "/applications").URL.Path).To(Equal("/signin"))
	}
	g.Expect(b.Follow(back.String()).URL.Path).To(Equal("/"))
	refused(copied, back, "invalid_grant") // the code was used
	p := b.Follow(back.String())
	g.Expect(p.Code).To(Equal(http.StatusForbidden), "and so was the attempt")
}

func (l *login) lies(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.issuer.SignIn("anna", "shoppers")
	defer l.issuer.SetIDToken(nil)
	const bits = 2048
	other, err := rsa.GenerateKey(rand.Reader, bits)
	g.Expect(err).NotTo(HaveOccurred())
	hour := time.Now().Add(-time.Hour).Unix()
	for name, lie := range map[string]struct {
		mint func(issuer.Claims) string
		want string
	}{
		"another nonce":         {func(c issuer.Claims) string { return l.issuer.Sign(c.With("nonce", "replayed")) }, "of another attempt"},
		"no nonce":              {func(c issuer.Claims) string { return l.issuer.Sign(c.With("nonce", "")) }, "of another attempt"},
		"another audience":      {func(c issuer.Claims) string { return l.issuer.Sign(c.With("aud", "other")) }, "is not valid"},
		"another issuer":        {func(c issuer.Claims) string { return l.issuer.Sign(c.With("iss", "https://other.example.com")) }, "is not valid"},
		"another's signature":   {func(c issuer.Claims) string { return issuer.SignBy(other, c) }, "is not valid"},
		"no signature":          {issuer.Unsigned, "is not valid"},
		"a secret as key":       {func(c issuer.Claims) string { return issuer.SignWith([]byte(l.issuer.ClientSecret), c) }, "is not valid"},
		"a public key as key":   {func(c issuer.Claims) string { return issuer.SignWith(l.issuer.PublicKey(), c) }, "is not valid"},
		"a time to come":        {func(c issuer.Claims) string { return l.issuer.Sign(c.With("nbf", hour+2*3600)) }, "is not valid"},
		"more than fits":        {func(c issuer.Claims) string { return l.issuer.Sign(c.With("more", strings.Repeat("x", 20_000))) }, "fewer groups"},
		"an end that has come":  {func(c issuer.Claims) string { return l.issuer.Sign(c.With("exp", hour)) }, "is not valid"},
		"nothing of a token":    {func(issuer.Claims) string { return "" }, "no ID token"},
		"nothing like a token":  {func(issuer.Claims) string { return "a.b" }, "is not valid"},
		"a person without name": {func(c issuer.Claims) string { return l.issuer.Sign(c.With("sub", "")) }, "names no user"},
		"whom the API refuses":  {func(c issuer.Claims) string { return l.issuer.Sign(c.With("sub", "root")) }, "does not accept your ID token"},
	} {
		l.issuer.SetIDToken(lie.mint)
		b := l.browser(t)
		p := b.Open(l.URL + "/signin/oidc")
		g.Expect(p.Code).To(Equal(http.StatusForbidden), name)
		g.Expect(p.Text).To(ContainSubstring(lie.want), name)
		g.Expect(b.Cookies[l.host()]).To(BeEmpty(), name)
	}
}

func (l *login) elsewhere(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.issuer.SignIn("anna", "shoppers")
	for _, to := range []string{"//evil.example/", "https://evil.example/", `/\evil.example`, "javascript:alert(1)", "/x\r\nSet-Cookie: a=b", "/signin/oidc?to=/signin/oidc"} {
		p := l.browser(t).Open(l.URL + "/signin/oidc?to=" + url.QueryEscape(to))
		g.Expect(p.URL.String()).To(Equal(l.URL+"/"), to)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL+"/signin/oidc", nil)
	g.Expect(err).NotTo(HaveOccurred())
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example", "evil.example:443"} {
		r.Host = host
		answer, err := l.HTTP("127.0.0.1").Do(r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
		g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden), host)
		g.Expect(answer.Header.Get("Location")).To(BeEmpty())
	}
}

// proxied signs users in at an address that the hubs know only from --dashboard-oidc-redirect-url.
func (l *login) proxied(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.issuer.SignIn("anna", "shoppers")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: l.Authority, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	var at atomic.Pointer[url.URL]
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at.Load()) }, // with the host name of the hub
	})
	t.Cleanup(proxy.Close)
	l.issuer.Allow(proxy.URL + "/signin/oidc/callback")
	var hubs []*url.URL
	for range 2 {
		_, address := l.Serve(t, l.known, proxy.URL+"/signin/oidc/callback")
		hub, err := url.Parse(address)
		g.Expect(err).NotTo(HaveOccurred())
		hubs = append(hubs, hub)
	}
	at.Store(hubs[0])
	b := l.browser(t)
	p := b.Step(proxy.URL + "/signin/oidc?to=/applications")
	back := b.Step(p.Header.Get("Location")).Header.Get("Location")
	g.Expect(back).To(HavePrefix(proxy.URL + "/signin/oidc/callback?"))
	at.Store(hubs[1])
	p = b.Follow(back)
	g.Expect(p.URL.String()).To(Equal(proxy.URL+"/applications"), p.Text)
	g.Expect(p.Text).To(And(ContainSubstring("sso:anna"), ContainSubstring("checkout")))
	csrf := csrfField.FindStringSubmatch(p.Text)
	g.Expect(csrf).To(HaveLen(2))

	at.Store(hubs[0])
	g.Expect(b.Open(proxy.URL+"/applications").URL.Path).To(Equal("/signin"), "the other hub has no session of it")
	at.Store(hubs[1])
	before := len(l.issuer.SignedOut())
	p = b.Submit(proxy.URL+"/signout", url.Values{"csrf": {csrf[1]}})
	g.Expect(p.URL.String()).To(Equal(proxy.URL + "/signin"))
	g.Expect(l.issuer.SignedOut()).To(HaveLen(before + 1))

	// A whole company shares the address of the proxy.
	for range 15 {
		p := l.browser(t).Open(proxy.URL + "/signin/oidc?to=/applications")
		g.Expect(p.Text).To(ContainSubstring("checkout"))
	}
	// A sign-in that began at the hub itself has no attempt at the proxy.
	p = l.browser(t).Open(hubs[1].String() + "/signin/oidc")
	g.Expect(p.Code).To(Equal(http.StatusForbidden))
	g.Expect(p.Text).To(ContainSubstring("Begin again at " + proxy.URL))
}

func (l *login) renewal(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.issuer.SignIn("anna", "shoppers")
	l.issuer.SetLife(15*time.Second, true)
	defer l.issuer.SetLife(time.Hour, true)
	b := l.in(t)
	before, reused := l.issuer.Renewed()
	g.Eventually(func() int {
		open := make(chan issuer.Page, 4)
		for range cap(open) {
			go func() { open <- b.Step(l.URL + "/applications") }()
		}
		pages := make([]issuer.Page, 0, cap(open))
		for range cap(open) {
			pages = append(pages, <-open)
		}
		for _, p := range pages {
			g.Expect(p.Code).To(Equal(http.StatusOK), p.Text)
			g.Expect(p.Text).To(ContainSubstring("checkout"))
		}
		now, _ := l.issuer.Renewed()
		return now - before
	}).WithTimeout(2 * time.Minute).WithPolling(500 * time.Millisecond).Should(BeNumerically(">=", 2))
	_, again := l.issuer.Renewed()
	g.Expect(again).To(Equal(reused), "a refresh token that comes twice was stolen, for an issuer")

	l.issuer.Withdraw()
	g.Eventually(func() string { return b.Open(l.URL + "/applications").URL.RequestURI() }).
		WithTimeout(2 * time.Minute).WithPolling(500 * time.Millisecond).Should(Equal("/signin?to=%2Fapplications"))

	l.issuer.SetLife(5*time.Second, false)
	b = l.in(t)
	g.Eventually(func() string { return b.Open(l.URL + "/applications").URL.Path }).
		WithTimeout(2 * time.Minute).WithPolling(500 * time.Millisecond).Should(Equal("/signin"))
}

func (l *login) down(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.issuer.SignIn("anna", "shoppers")
	b := l.in(t)
	p := l.browser(t).Step(l.URL + "/signin/oidc")
	g.Expect(p.Code).To(Equal(http.StatusSeeOther))
	l.issuer.SetDown(true)
	defer l.issuer.SetDown(false)
	g.Expect(b.Open(l.URL + "/applications").Text).To(ContainSubstring("checkout"))
	// A browser that has returned from the issuer: the code cannot be redeemed.
	half := l.browser(t)
	l.issuer.SetDown(false)
	back := half.Step(half.Step(l.URL + "/signin/oidc").Header.Get("Location")).Header.Get("Location")
	l.issuer.SetDown(true)
	p = half.Follow(back)
	g.Expect(p.Code).To(Equal(http.StatusServiceUnavailable), p.Text)
	g.Expect(p.Text).To(ContainSubstring("gives no valid answer"))
	v := &visitor{t: t, show: l.Showcase, http: l.HTTP("127.0.0.7")}
	v.signIn(l.Token(t, "down", "shop", showcase.Reads()...))
	_, text := v.get("/applications")
	g.Expect(text).To(ContainSubstring("checkout"))
	fresh, err := relying.New(relying.Options{URL: l.issuer.URL, ClientID: "x", CAFile: l.issuer.CAFile, Clock: clock.RealClock{}})
	g.Expect(err).NotTo(HaveOccurred(), "the hub starts without it")
	_, _, err = fresh.Begin(t.Context(), l.URL)
	g.Expect(err).To(MatchError(ContainSubstring(fmt.Sprint(http.StatusServiceUnavailable))))
}
