package dashboard

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// How long a session lasts, and how many there are at most.
const (
	// sessionIdle is how long nobody may use it.
	sessionIdle = 2 * time.Hour
	// sessionLife is how long it lasts at most.
	sessionLife = 12 * time.Hour
	maxSessions = 1000
	// maxSessionsOfOne bounds those of one person, so that nobody pushes others out.
	maxSessionsOfOne = 20
	secretBytes      = 32
)

// session is one browser in which a person has signed in.
type session struct {
	person *person
	// csrf is in every form, and comes back with it.
	csrf string
	// ends is when it ends in any case; used is when it was used last.
	ends, used time.Time
	// streams counts the live pages that are open.
	streams int
	// notes are kept for one look: a join command with its secret.
	notes map[string]note
}

// note is something that is shown for a while in the session that made it.
type note struct {
	text  string
	until time.Time
}

// sessions are all sessions. The keys are hashes, so that the memory of the hub does not
// hold what a browser has to show.
type sessions struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	by    map[[sha256.Size]byte]*session
}

func newSessions(c clock.PassiveClock) *sessions {
	return &sessions{clock: c, by: map[[sha256.Size]byte]*session{}}
}

// open begins a session and returns the secret by which it is found again.
func (s *sessions) open(p *person) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.tidy(now, p.name)
	one := &session{person: p, csrf: newSecret(), used: now, ends: now.Add(sessionLife), notes: map[string]note{}}
	if !p.until.IsZero() && p.until.Before(one.ends) {
		one.ends = p.until
	}
	secret := newSecret()
	s.by[sha256.Sum256([]byte(secret))] = one
	return secret
}

// get returns the session of a secret, nil if there is none.
func (s *sessions) get(secret string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	one := s.by[key]
	if one == nil {
		return nil
	}
	now := s.clock.Now()
	if one.over(now) {
		delete(s.by, key)
		return nil
	}
	one.used = now
	return one
}

// alive says whether a session has not ended, without using it.
func (s *sessions) alive(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !one.over(s.clock.Now())
}

// end ends the session of a secret.
func (s *sessions) end(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	if one := s.by[key]; one != nil {
		one.ends = time.Time{} // its streams see it
		delete(s.by, key)
	}
}

func (o *session) over(now time.Time) bool {
	return !now.Before(o.ends) || now.Sub(o.used) > sessionIdle
}

// tidy makes room for one more: it drops those that ended, then the least used of the same
// person, then the least used of all.
func (s *sessions) tidy(now time.Time, name string) {
	of := 0
	for key, one := range s.by {
		if one.over(now) {
			delete(s.by, key)
		} else if one.person.name == name {
			of++
		}
	}
	if of >= maxSessionsOfOne {
		s.dropOldest(func(o *session) bool { return o.person.name == name })
	}
	if len(s.by) >= maxSessions {
		s.dropOldest(func(*session) bool { return true })
	}
}

func (s *sessions) dropOldest(of func(*session) bool) {
	var oldest [sha256.Size]byte
	var found *session
	for key, one := range s.by {
		if of(one) && (found == nil || one.used.Before(found.used)) {
			oldest, found = key, one
		}
	}
	if found != nil {
		found.ends = time.Time{}
		delete(s.by, oldest)
	}
}

// keep remembers a note of a session for a while.
func (s *sessions) keep(one *session, key, text string, span time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const most = 20
	now := s.clock.Now()
	for k, n := range one.notes {
		if !now.Before(n.until) || len(one.notes) >= most {
			delete(one.notes, k)
		}
	}
	one.notes[key] = note{text: text, until: now.Add(span)}
}

// kept returns a note of a session, empty if there is none any more.
func (s *sessions) kept(one *session, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := one.notes[key]
	if !ok || !s.clock.Now().Before(n.until) {
		return ""
	}
	return n.text
}

// take takes a note of a session: it is there once.
func (s *sessions) take(one *session, key string) string {
	text := s.kept(one, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(one.notes, key)
	return text
}

// newSecret returns what nobody guesses.
func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // it never fails: the program would have ended
	return base64.RawURLEncoding.EncodeToString(raw)
}

// cookieName of a session. With the prefix, browsers take it over TLS only, and for this
// very host.
func cookieName(secure bool) string {
	if secure {
		return "__Host-fairlead"
	}
	return "fairlead"
}

// setCookie hands a secret to the browser; an empty one takes it back.
func (s *Server) setCookie(w http.ResponseWriter, secret string) {
	age := 0
	if secret == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Without TLS only the loopback address is listened on, where some browsers take no secure cookie.
		Name: cookieName(s.secure), Value: secret, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode,
	})
}

// secretOf returns what the browser shows.
func (s *Server) secretOf(r *http.Request) string {
	cookie, err := r.Cookie(cookieName(s.secure))
	if err != nil {
		return ""
	}
	return cookie.Value
}
