package dashboard

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// signInPage is what the page to sign in shows.
type signInPage struct {
	// To is where the person wanted to go.
	To string
	// Said is what became of the last try.
	Said string
	// Certificate is whom the browser's certificate names; empty if it shows none.
	Certificate  string
	Certificates bool
	Local        bool
}

func (s *Server) signInPage(r *http.Request, said string) signInPage {
	p := signInPage{Said: said, To: "/", Certificates: s.Certificates, Local: s.Local}
	to := r.FormValue("to")
	if local(to) {
		p.To = to
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		p.Certificate = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	return p
}

func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request) {
	if one := s.sessions.get(s.secretOf(r)); one != nil && shown(r, one.person) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.execute(w, "signin", s.signInPage(r, ""), http.StatusOK)
}

// signIn lets a person in by the token of the form, or by the certificate of the connection.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	again := func(code int, said string) { s.execute(w, "signin", s.signInPage(r, said), code) }
	if !s.limiter.allow(addressOf(r)) {
		w.Header().Set("Retry-After", "10")
		again(http.StatusTooManyRequests, "Too many tries; wait a little.")
		return
	}
	if err := r.ParseForm(); err != nil {
		again(http.StatusBadRequest, "The form could not be read.")
		return
	}
	var p *person
	var err error
	switch {
	case r.PostForm.Get("with") != "certificate":
		p, err = s.door.byToken(r.Context(), r.PostForm.Get("token"))
	case !s.Certificates || r.TLS == nil || len(r.TLS.VerifiedChains) == 0:
		err = refused("The browser shows no certificate. Import one of the hub's client authority into it and load this page again.")
	default:
		p, err = s.door.byCertificate(r.Context(), r.TLS.PeerCertificates[0])
	}
	var no refusedError
	switch {
	case errors.As(err, &no):
		s.log.Info("Refusing a sign-in", "address", addressOf(r), "reason", no.why)
		again(http.StatusForbidden, no.why)
		return
	case err != nil:
		s.log.Error(err, "Signing in failed")
		again(http.StatusBadGateway, "The hub's API did not answer; try again in a moment.")
		return
	}
	s.enter(w, r, p, s.signInPage(r, "").To)
}

// enter begins a session. A browser that had another gets rid of it.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, p *person, to string) {
	s.sessions.end(s.secretOf(r))
	s.setCookie(w, s.sessions.open(p))
	s.log.Info("Signing somebody in", "user", p.name, "via", p.via, "address", addressOf(r))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	one := s.sessions.get(s.secretOf(r))
	if one != nil && !sameSecret(r.FormValue("csrf"), one.csrf) {
		http.Error(w, "This form is old: load the page again.", http.StatusForbidden)
		return
	}
	s.sessions.end(s.secretOf(r))
	s.setCookie(w, "")
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// linkLife is how long a link to sign in is good for.
const linkLife = 2 * time.Minute

// links are the links by which the one who started this program signs in, each once.
type links struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	ends  map[string]time.Time
}

func newLinks(c clock.PassiveClock) *links { return &links{clock: c, ends: map[string]time.Time{}} }

// SignInLink returns a path by which somebody signs in as the user of Config, once, within
// linkLife. It is for Local only.
func (s *Server) SignInLink() string {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	code := newSecret()
	clear(s.links.ends) // the last one counts
	s.links.ends[code] = s.clock.Now().Add(linkLife)
	return "/signin/link?code=" + code
}

// use says whether a code is good, which it is once.
func (l *links) use(code string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for known, ends := range l.ends {
		if sameSecret(known, code) {
			delete(l.ends, known)
			return l.clock.Now().Before(ends)
		}
	}
	return false
}

func (s *Server) followLink(w http.ResponseWriter, r *http.Request) {
	if !s.Local || !s.limiter.allow(addressOf(r)) || !s.links.use(r.URL.Query().Get("code")) {
		s.execute(w, "signin", s.signInPage(r, "This link was used already, or has ended: start `hub dashboard` again."), http.StatusForbidden)
		return
	}
	p, err := s.door.byKubeconfig(r.Context())
	if err != nil {
		s.log.Error(err, "Signing in failed")
		s.execute(w, "signin", s.signInPage(r, "The hub does not accept this kubeconfig: "+err.Error()), http.StatusForbidden)
		return
	}
	s.enter(w, r, p, "/")
}
