package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Issuer is a running OpenID Connect provider.
type Issuer struct {
	*httptest.Server

	// CAFile has the authority of its certificate.
	CAFile string
	// ClientID and ClientSecret are the credentials of its only client; a client without a secret is public.
	ClientID, ClientSecret string

	key *rsa.PrivateKey
	mu  sync.Mutex
	s   state
}

// state may change while it runs.
type state struct {
	down      bool
	redirects map[string]bool
	// person is the user of every browser, and groups are the user's groups.
	person string
	groups []string
	life   time.Duration
	// refreshes enables refresh tokens.
	refreshes bool
	mint      func(honest Claims) string
	// instead has handlers that replace those of some paths.
	instead map[string]http.HandlerFunc
	codes   map[string]grant
	refresh map[string]grant
	// renewed counts ID tokens issued for refresh tokens; reused counts refresh tokens used a second time.
	renewed, reused int
	// hints are the ID tokens used for signing out.
	hints []string
}

// grant is an authorization granted to a user.
type grant struct {
	person, redirect, challenge, nonce string
	groups                             []string
}

// Start starts a provider whose client may use these redirect URIs, and stops it at the end of the test.
func Start(tb testing.TB, redirects ...string) *Issuer {
	tb.Helper()
	const bits = 2048
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		tb.Fatalf("making the issuer's key: %v", err)
	}
	i := &Issuer{
		CAFile: filepath.Join(tb.TempDir(), "issuer.crt"), ClientID: "fairlead", key: key,
		s: state{
			redirects: map[string]bool{}, person: "anna", groups: []string{"operators"}, life: time.Hour, refreshes: true,
			codes: map[string]grant{}, refresh: map[string]grant{},
		},
	}
	for _, to := range redirects {
		i.s.redirects[to] = true
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /auth", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /logout", i.logout)
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.read().down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		if instead := i.read().instead[r.URL.Path]; instead != nil {
			instead(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(i.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	if err := os.WriteFile(i.CAFile, certificate, 0o600); err != nil {
		tb.Fatalf("writing the issuer's certificate: %v", err)
	}
	return i
}

func (i *Issuer) read() state {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.s
}

func (i *Issuer) change(how func(s *state)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	how(&i.s)
}

// SetDown makes it unavailable, or available again.
func (i *Issuer) SetDown(down bool) { i.change(func(s *state) { s.down = down }) }

// Allow adds a redirect URI of its client.
func (i *Issuer) Allow(redirect string) { i.change(func(s *state) { s.redirects[redirect] = true }) }

// SignIn sets the user of every browser.
func (i *Issuer) SignIn(person string, groups ...string) {
	i.change(func(s *state) { s.person, s.groups = person, groups })
}

// SetLife sets the lifetime of ID tokens, and whether refresh tokens are issued.
func (i *Issuer) SetLife(life time.Duration, refreshes bool) {
	i.change(func(s *state) { s.life, s.refreshes = life, refreshes })
}

// SetIDToken replaces the ID tokens by those of a function; nil restores the honest ones.
func (i *Issuer) SetIDToken(mint func(honest Claims) string) {
	i.change(func(s *state) { s.mint = mint })
}

// SetAnswer replaces the handler of a path; nil restores the honest one.
func (i *Issuer) SetAnswer(path string, answer http.HandlerFunc) {
	i.change(func(s *state) {
		s.instead = maps.Clone(s.instead)
		if s.instead == nil {
			s.instead = map[string]http.HandlerFunc{}
		}
		s.instead[path] = answer
	})
}

// Withdraw revokes all refresh tokens.
func (i *Issuer) Withdraw() { i.change(func(s *state) { clear(s.refresh) }) }

// Renewed returns the number of ID tokens issued for refresh tokens, and of reused refresh tokens.
func (i *Issuer) Renewed() (renewed, reused int) {
	s := i.read()
	return s.renewed, s.reused
}

// SignedOut returns the ID tokens used for signing out.
func (i *Issuer) SignedOut() []string { return i.read().hints }

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // otherwise the client is gone
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
		"end_session_endpoint": i.URL + "/logout", "code_challenge_methods_supported": []string{"S256"},
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		"response_types_supported":              []string{"code"}, "subject_types_supported": []string{"public"},
	})
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "e": "AQAB",
		"n": base64.RawURLEncoding.EncodeToString(i.key.N.Bytes()),
	}}})
}

// authorize redirects a browser back with a code for its user.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	i.mu.Lock()
	defer i.mu.Unlock()
	redirect := query.Get("redirect_uri")
	if query.Get("client_id") != i.ClientID || !i.s.redirects[redirect] {
		http.Error(w, "unknown client or redirect_uri", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {query.Get("state")}, "iss": {i.URL}}
	switch {
	case query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" || query.Get("code_challenge") == "" || query.Get("nonce") == "":
		back.Set("error", "invalid_request")
	case i.s.person == "":
		back.Set("error", "access_denied")
		back.Set("error_description", "<b>nobody</b> signed in")
	default:
		code := rand.Text()
		i.s.codes[code] = grant{person: i.s.person, groups: i.s.groups, redirect: redirect, challenge: query.Get("code_challenge"), nonce: query.Get("nonce")}
		back.Set("code", code)
	}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusSeeOther)
}

// logout only redirects the browser, because there are no sessions.
func (i *Issuer) logout(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	i.change(func(s *state) { s.hints = append(s.hints, query.Get("id_token_hint")) })
	http.Redirect(w, r, query.Get("post_logout_redirect_uri"), http.StatusSeeOther)
}
