package auth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"

	"k8s.io/utils/clock"
)

// Options say who may sign in, and how.
type Options struct {
	// Local serves one person on this machine only: whoever has the link that Link returns
	// is the user of the Authenticator's configuration.
	Local bool
	// Certificates says that TLS asks for client certificates and has verified them.
	Certificates bool
	// Secure says that there is TLS.
	Secure bool
	// Show shows the page to sign in.
	Show func(w http.ResponseWriter, p Page, code int)
	// Log is for what fails.
	Log logr.Logger
}

// SignIn begins and ends sessions.
type SignIn struct {
	Options
	Sessions      *Sessions
	authenticator *Authenticator
	limiter       *limiter
	links         *links
}

// NewSignIn returns one that nobody has used yet.
func NewSignIn(a *Authenticator, c clock.PassiveClock, o Options) *SignIn {
	return &SignIn{Options: o, Sessions: NewSessions(c), authenticator: a, limiter: newLimiter(c), links: newLinks(c)}
}

// Page is what the page to sign in shows.
type Page struct {
	// To is where the person wanted to go.
	To string
	// Said is what became of the last try.
	Said string
	// Certificate is whom the browser's certificate names; empty if it shows none.
	Certificate  string
	Certificates bool
	Local        bool
	// Code is that of a link which is good; empty otherwise.
	Code string
}

func (s *SignIn) page(r *http.Request, said string) Page {
	p := Page{Said: said, To: "/", Certificates: s.Certificates, Local: s.Local}
	to := r.FormValue("to")
	if IsLocal(to) {
		p.To = to
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		p.Certificate = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	return p
}

// Routes adds what serves people who sign in or out.
func (s *SignIn) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /signin", s.showForm)
	mux.HandleFunc("POST /signin", s.signIn)
	mux.HandleFunc("GET /signin/link", s.showLink)
	mux.HandleFunc("POST /signin/link", s.useLink)
	mux.HandleFunc("POST /signout", s.signOut)
}

// Session returns the session that a request is of, nil if it is of none.
func (s *SignIn) Session(r *http.Request) *Session {
	one := s.Sessions.Get(s.secretOf(r))
	if one == nil || !one.User.shows(r) {
		return nil
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

// signIn lets a person in by the token of the form, or by the certificate of the connection.
func (s *SignIn) signIn(w http.ResponseWriter, r *http.Request) {
	again := func(code int, said string) { s.Show(w, s.page(r, said), code) }
	if !s.limiter.allow(addressOf(r)) {
		w.Header().Set("Retry-After", "10")
		again(http.StatusTooManyRequests, "Too many tries; wait a little.")
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
	s.enter(w, r, u, s.page(r, "").To)
}

// enter begins a session. A browser that had another gets rid of it.
func (s *SignIn) enter(w http.ResponseWriter, r *http.Request, u *User, to string) {
	s.Sessions.End(s.secretOf(r))
	s.setCookie(w, s.Sessions.Open(u))
	s.Log.Info("Signing somebody in", "user", u.Name, "via", u.Via, "address", addressOf(r))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *SignIn) signOut(w http.ResponseWriter, r *http.Request) {
	one := s.Sessions.Get(s.secretOf(r))
	if one != nil && !one.Gave(r.FormValue("csrf")) {
		http.Error(w, "This form is old: load the page again.", http.StatusForbidden)
		return
	}
	s.Sessions.End(s.secretOf(r))
	s.setCookie(w, "")
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// IsLocal says whether an address is one of this page: a path, and no name of a host.
func IsLocal(to string) bool {
	u, err := url.Parse(to)
	return err == nil && u.Host == "" && u.Scheme == "" && strings.HasPrefix(to, "/") &&
		!strings.HasPrefix(to, "//") && !strings.ContainsAny(to, "\\\r\n\t") && len(to) <= 2000
}
