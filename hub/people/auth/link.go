package auth

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// linkLife is how long a link for signing in is valid.
const linkLife = 2 * time.Minute

// links has the codes of the links by which the person who started this program signs in. Each works once.
type links struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	ends  map[string]time.Time
}

func newLinks(c clock.PassiveClock) *links { return &links{clock: c, ends: map[string]time.Time{}} }

// issue returns a new code and invalidates all earlier ones.
func (l *links) issue() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	code := newSecret()
	clear(l.ends)
	l.ends[code] = l.clock.Now().Add(linkLife)
	return code
}

// isValid says whether a code can still be used.
func (l *links) isValid(code string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for known, ends := range l.ends {
		if sameSecret(known, code) {
			return l.clock.Now().Before(ends)
		}
	}
	return false
}

// use says whether a code is valid, and uses it up.
func (l *links) use(code string) bool {
	if !l.isValid(code) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, first := l.ends[code]
	delete(l.ends, code)
	return first
}

// Link returns a path by which somebody signs in, once and within linkLife, as the user of the Authenticator's configuration. It needs Options.Local.
func (s *SignIn) Link() string { return "/signin/link?code=" + s.links.issue() }

// linkOver is the message for a link that is not valid any more.
const linkOver = "This link was already used or has expired: run `hub dashboard` again."

// showLink asks the visitor of a link to continue, without using up the link: link previews and browsers that preload pages visit it, too.
func (s *SignIn) showLink(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	if !s.Local || !s.limiter.allow(addressOf(r)) || !s.links.isValid(code) {
		s.Show(w, s.page(r, linkOver), http.StatusForbidden)
		return
	}
	p := s.page(r, "")
	p.Code = code
	s.Show(w, p, http.StatusOK)
}

// useLink signs in the visitor who continued from a link.
func (s *SignIn) useLink(w http.ResponseWriter, r *http.Request) {
	if !s.Local || !s.limiter.allow(addressOf(r)) || !s.links.use(r.PostFormValue("code")) {
		s.Show(w, s.page(r, linkOver), http.StatusForbidden)
		return
	}
	u, err := s.authenticator.ByKubeconfig(r.Context())
	if err != nil {
		s.Log.Error(err, "Signing in failed")
		s.Show(w, s.page(r, "The hub does not accept this kubeconfig: "+err.Error()), http.StatusForbidden)
		return
	}
	s.openAndRedirect(w, r, u, "/")
}
