package auth

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// linkLife is how long a link to sign in is good for.
const linkLife = 2 * time.Minute

// links are the links by which the one who started this program signs in, each once.
type links struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	ends  map[string]time.Time
}

func newLinks(c clock.PassiveClock) *links { return &links{clock: c, ends: map[string]time.Time{}} }

// issue returns a new code; those before it are good no more.
func (l *links) issue() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	code := newSecret()
	clear(l.ends)
	l.ends[code] = l.clock.Now().Add(linkLife)
	return code
}

// isValid says whether a code is good still.
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

// use says whether a code is good, which it is once.
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

// Link returns a path by which somebody signs in as the user of the Authenticator's
// configuration, once, within linkLife. It is for Local only.
func (s *SignIn) Link() string { return "/signin/link?code=" + s.links.issue() }

// linkOver is said of a link that is not good any more.
const linkOver = "This link was used already, or has ended: start `hub dashboard` again."

// showLink asks whoever has a link to go on. It does not use the link: programs that look where
// a link leads, and browsers that load a page ahead, ask for it as a person does.
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

// useLink lets in whoever went on from a link.
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
