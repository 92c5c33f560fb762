package issuer

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// Browser is a web browser without a window. It obeys the rules for cookies that protect people: Secure, HttpOnly names
// that begin with __Host-, and SameSite by the site that a navigation comes from. Each port is a site of its own here.
type Browser struct {
	tb   testing.TB
	http *http.Client
	// Cookies has the cookies of each site, by name.
	Cookies map[string]map[string]*http.Cookie
}

// Page is a page that a browser shows.
type Page struct {
	URL    *url.URL
	Code   int
	Header http.Header
	Text   string
}

// NewBrowser returns a browser that trusts the authorities in these files. It calls from an address of its own in the
// loopback network, since the dashboard counts the attempts of each address.
func NewBrowser(tb testing.TB, caFiles ...string) *Browser {
	tb.Helper()
	pool := x509.NewCertPool()
	for _, file := range caFiles {
		raw, err := os.ReadFile(file)
		if err != nil || !pool.AppendCertsFromPEM(raw) {
			tb.Fatalf("trusting %s: %v", file, err)
		}
	}
	address := make(net.IP, net.IPv4len)
	_, _ = rand.Read(address) // it never fails: the program would have ended
	address[0] = 127
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: address}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &Browser{
		tb: tb, Cookies: map[string]map[string]*http.Cookie{},
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// Open follows a link of the present site, and all redirects.
func (b *Browser) Open(address string) Page { return b.navigate(http.MethodGet, address, nil, false) }

// Follow opens an address from a link of another site, and follows all redirects.
func (b *Browser) Follow(address string) Page { return b.navigate(http.MethodGet, address, nil, true) }

// Submit sends a form of the present site.
func (b *Browser) Submit(address string, form url.Values) Page {
	return b.navigate(http.MethodPost, address, form, false)
}

// Step opens an address and follows no redirect.
func (b *Browser) Step(address string) Page {
	b.tb.Helper()
	return b.request(http.MethodGet, address, nil, false)
}

// navigate opens an address and follows redirects until a page has none.
func (b *Browser) navigate(method, address string, form url.Values, fromElsewhere bool) Page {
	b.tb.Helper()
	const most = 12
	for range most {
		p := b.request(method, address, form, fromElsewhere)
		var next string
		if p.Code >= http.StatusMultipleChoices && p.Code < http.StatusBadRequest {
			next = p.Header.Get("Location")
		} else if _, to, ok := strings.Cut(p.Header.Get("Refresh"), "url="); ok {
			next, fromElsewhere = to, false // a redirect in the page itself
		}
		if next == "" {
			return p
		}
		to, err := p.URL.Parse(next)
		if err != nil {
			b.tb.Fatalf("%s leads to %q: %v", p.URL, next, err)
		}
		fromElsewhere = fromElsewhere || to.Host != p.URL.Host
		method, address, form = http.MethodGet, to.String(), nil
	}
	b.tb.Fatalf("%s leads on for ever", address)
	return Page{}
}

func (b *Browser) request(method, address string, form url.Values, fromElsewhere bool) Page {
	b.tb.Helper()
	r, err := http.NewRequestWithContext(b.tb.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.tb.Fatalf("going to %s: %v", address, err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if fromElsewhere {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	for _, cookie := range b.Cookies[r.URL.Host] {
		if !fromElsewhere || cookie.SameSite == http.SameSiteLaxMode {
			r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
		}
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.tb.Fatalf("going to %s: %v", address, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.tb.Fatalf("reading %s: %v", address, err)
	}
	b.keep(r.URL.Host, answer.Cookies())
	return Page{URL: r.URL, Code: answer.StatusCode, Header: answer.Header, Text: string(text)}
}

// keep stores the cookies of an answer. The test fails if scripts, other paths or other hosts could get one.
func (b *Browser) keep(site string, cookies []*http.Cookie) {
	b.tb.Helper()
	if b.Cookies[site] == nil {
		b.Cookies[site] = map[string]*http.Cookie{}
	}
	for _, cookie := range cookies {
		switch {
		case !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/" || cookie.Domain != "" || !strings.HasPrefix(cookie.Name, "__Host-"):
			b.tb.Errorf("%s sets a cookie that scripts, other paths or other hosts could get: %s", site, cookie)
		case cookie.MaxAge < 0:
			delete(b.Cookies[site], cookie.Name)
		default:
			b.Cookies[site][cookie.Name] = cookie
		}
	}
}
