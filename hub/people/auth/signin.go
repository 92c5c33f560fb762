package auth

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/go-logr/logr"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/issuer"
)

// Options are the ways of signing in.
type Options struct {
	// Local serves one person on this machine only: whoever has the path that Link returns is the user of the Authenticator's configuration.
	Local bool
	// Certificates says that TLS requests client certificates and verifies them.
	Certificates bool
	// Secure says that the dashboard serves TLS.
	Secure bool
	// Issuer is the OpenID Connect issuer for people; nil if there is none. It needs Secure.
	Issuer *issuer.Issuer
	// RedirectURL is the URL that the issuer sends browsers back to. If it is empty, the host of the request is used, if Serves says that
	// it is in the dashboard's certificate.
	RedirectURL string
	Serves      func(host string) error
	// ShowNextPage renders a NextPage.
	ShowNextPage func(w http.ResponseWriter, o NextPage)
	// Show renders the page for signing in.
	Show func(w http.ResponseWriter, p Page, code int)
	// Log takes failures.
	Log logr.Logger
}

// SignIn begins and ends sessions.
type SignIn struct {
	Options
	Sessions      *Sessions
	authenticator *Authenticator
	limiter       *limiter
	// callbacks limits requests that come back from the issuer.
	callbacks *limiter
	links     *links
}

// NewSignIn returns a SignIn without sessions.
func NewSignIn(a *Authenticator, c clock.PassiveClock, o Options) *SignIn {
	return &SignIn{
		Options: o, Sessions: NewSessions(c), authenticator: a, links: newLinks(c),
		limiter: newLimiter(c, triesPerAddress, triesEvery), callbacks: newLimiter(c, callbacksPerAddress, callbacksEvery),
	}
}

// Page is the data of the page to sign in.
type Page struct {
	// To is the path that the person wanted to see.
	To string
	// Message says why the last attempt failed; empty at first.
	Message string
	// Certificate is the user that the browser's certificate names; empty if the browser shows none.
	Certificate  string
	Certificates bool
	Local        bool
	// Issuer is the name of the issuer; empty if there is none.
	Issuer string
	// Code is the valid code of the link that was opened; empty otherwise.
	Code string
}

func (s *SignIn) page(r *http.Request, message string) Page {
	p := Page{Message: message, To: "/", Certificates: s.Certificates, Local: s.Local}
	if s.Issuer != nil {
		p.Issuer = s.Issuer.Host()
	}
	to := r.FormValue("to")
	if isReturnPath(to) {
		p.To = to
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		p.Certificate = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	return p
}

// Routes adds the handlers for signing in and out.
func (s *SignIn) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /signin", s.showForm)
	mux.HandleFunc("POST /signin", s.signIn)
	mux.HandleFunc("GET /signin/link", s.showLink)
	mux.HandleFunc("POST /signin/link", s.useLink)
	mux.HandleFunc("POST /signout", s.signOut)
	if s.Issuer != nil {
		mux.HandleFunc("GET "+beginPath, s.begin)
		mux.HandleFunc("GET "+CallbackPath, s.callback)
	}
}

// Session returns the session of a request, nil if it has none. The caller decides whether the request counts as a use.
func (s *SignIn) Session(r *http.Request) *Session {
	one := s.Sessions.Get(s.secretOf(r))
	if one == nil || !one.User.showsCertificate(r) {
		return nil
	}
	if t := one.User.idToken; t != nil {
		if _, err := t.current(r.Context()); errors.Is(err, errEnded) {
			s.Sessions.End(s.secretOf(r))
			return nil
		}
	}
	return one
}

func (s *SignIn) showForm(w http.ResponseWriter, r *http.Request) {
	if s.Session(r) != nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.Show(w, s.page(r, ""), http.StatusOK)
}

// signIn signs a person in by the token in the form, or by the certificate of the connection.
func (s *SignIn) signIn(w http.ResponseWriter, r *http.Request) {
	again := func(code int, message string) { s.Show(w, s.page(r, message), code) }
	if !s.limiter.allow(addressOf(r)) {
		s.tooMany(w, r)
		return
	}
	if err := r.ParseForm(); err != nil {
		again(http.StatusBadRequest, "The form could not be read.")
		return
	}
	var u *User
	var err error
	switch {
	case r.PostForm.Get("with") != "certificate":
		u, err = s.authenticator.ByToken(r.Context(), r.PostForm.Get("token"))
	case !s.Certificates || r.TLS == nil || len(r.TLS.VerifiedChains) == 0:
		err = refused("The browser shows no certificate. Import one of the hub's client authority into it and load this page again.")
	default:
		u, err = s.authenticator.ByCertificate(r.Context(), r.TLS.PeerCertificates[0])
	}
	var no refusedError
	switch {
	case errors.As(err, &no):
		s.Log.Info("Refusing a sign-in", "address", addressOf(r), "reason", no.why)
		again(http.StatusForbidden, no.why)
		return
	case err != nil:
		s.Log.Error(err, "Signing in failed")
		again(http.StatusBadGateway, "The hub's API did not answer; try again in a moment.")
		return
	}
	s.openAndRedirect(w, r, u, s.page(r, "").To)
}

// tooMany answers requests beyond the limit.
func (s *SignIn) tooMany(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "10")
	s.Show(w, s.page(r, "Too many attempts; wait a little."), http.StatusTooManyRequests)
}

// openAndRedirect begins a session and redirects to a page.
func (s *SignIn) openAndRedirect(w http.ResponseWriter, r *http.Request, u *User, to string) {
	s.open(w, r, u)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// open begins a session, and ends the browser's earlier one.
func (s *SignIn) open(w http.ResponseWriter, r *http.Request, u *User) {
	s.Sessions.End(s.secretOf(r))
	s.setCookie(w, s.Sessions.Open(u))
	s.Log.Info("Signing somebody in", "user", u.Name, "via", u.Via, "address", addressOf(r))
}

func (s *SignIn) signOut(w http.ResponseWriter, r *http.Request) {
	one := s.Sessions.Get(s.secretOf(r))
	if one != nil && !one.IsCSRF(r.FormValue("csrf")) {
		http.Error(w, "This form has expired: load the page again.", http.StatusForbidden)
		return
	}
	s.Sessions.End(s.secretOf(r))
	s.setCookie(w, "")
	if one != nil {
		if address := s.signOutURL(r, one.User); address != "" {
			s.ShowNextPage(w, NextPage{Title: "Signed out", Text: "You are signed out of the hub, and will be of " + s.Issuer.Host() + ".", To: address, Link: "Sign out there"})
			return
		}
	}
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// isReturnPath says whether somebody may be sent to a path after signing in; the paths of signing in itself would loop.
func isReturnPath(to string) bool {
	u, err := url.Parse(to)
	return err == nil && IsLocal(to) && !strings.HasPrefix(path.Clean(u.Path)+"/", "/signin/")
}

// IsLocal says whether an address is a path of this site, without a host.
func IsLocal(to string) bool {
	u, err := url.Parse(to)
	return err == nil && u.Host == "" && u.Scheme == "" && strings.HasPrefix(to, "/") &&
		!strings.HasPrefix(to, "//") && !strings.ContainsAny(to, "\\\r\n\t") && len(to) <= 2000
}
