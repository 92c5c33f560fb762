package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Lifetime and number of sessions.
const (
	// sessionIdle is how long a session may be unused.
	sessionIdle = 2 * time.Hour
	// sessionLife is the longest life of a session.
	sessionLife = 12 * time.Hour
	maxSessions = 1000
	// maxSessionsOfOne bounds the sessions of one person, so that nobody can evict those of others.
	maxSessionsOfOne = 20
	secretBytes      = 32
)

// Session is one sign-in of a user in one browser.
type Session struct {
	User *User
	// CSRF is the token that every form of the session contains.
	CSRF string
	// ends is the latest end of the session, and used the time of its last use.
	ends, used time.Time
	// notes are texts for a page to show, such as a join command with its secret, by key.
	notes map[string]note
}

// note is such a text, and how long the session keeps it.
type note struct {
	text  string
	until time.Time
}

// Sessions has all sessions, by the hash of their secret, so that the hub's memory does not contain what a browser has to show.
type Sessions struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	by    map[[sha256.Size]byte]*Session
}

// NewSessions returns Sessions without any.
func NewSessions(c clock.PassiveClock) *Sessions {
	return &Sessions{clock: c, by: map[[sha256.Size]byte]*Session{}}
}

// Open begins a session and returns its secret.
func (s *Sessions) Open(u *User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.evict(now, u)
	one := &Session{User: u, CSRF: newSecret(), used: now, ends: now.Add(sessionLife), notes: map[string]note{}}
	if !u.until.IsZero() && u.until.Before(one.ends) {
		one.ends = u.until
	}
	secret := newSecret()
	s.by[sha256.Sum256([]byte(secret))] = one
	return secret
}

// Get returns the session of a secret, nil if there is none. It does not count as a use: an open page polls by itself.
func (s *Sessions) Get(secret string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	one := s.by[key]
	if one == nil {
		return nil
	}
	if one.hasEnded(s.clock.Now()) {
		delete(s.by, key)
		return nil
	}
	return one
}

// Alive says whether a session has not ended, and does not count as its use.
func (s *Sessions) Alive(one *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !one.hasEnded(s.clock.Now())
}

// Use counts as a use of a session: a person loaded a page, or typed into a terminal. It does not revive a session that has ended.
func (s *Sessions) Use(one *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.clock.Now(); !one.hasEnded(now) {
		one.used = now
	}
}

// End ends the session of a secret.
func (s *Sessions) End(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	if one := s.by[key]; one != nil {
		one.ends = time.Time{} // its streams notice it
		delete(s.by, key)
	}
}

// IsCSRF says whether a form's token is that of this session, which proves that the form is from one of its pages.
func (o *Session) IsCSRF(csrf string) bool { return sameSecret(csrf, o.CSRF) }

func (o *Session) hasEnded(now time.Time) bool {
	return !now.Before(o.ends) || now.Sub(o.used) > sessionIdle || !o.User.hasValidCredential()
}

// evict makes room for one more session. It drops ended sessions, then the least recently used of the same person, then of the service
// accounts of the same namespace, then of all.
func (s *Sessions) evict(now time.Time, u *User) {
	namespace := u.namespace()
	own := func(o *Session) bool { return o.User.Name == u.Name }
	beside := func(o *Session) bool { return namespace != "" && o.User.namespace() == namespace }
	ofOne, ofNamespace := 0, 0
	for key, one := range s.by {
		if one.hasEnded(now) {
			delete(s.by, key)
			continue
		}
		if own(one) {
			ofOne++
		}
		if beside(one) {
			ofNamespace++
		}
	}
	switch {
	case ofOne >= maxSessionsOfOne:
		s.dropOldest(own)
	case ofNamespace >= maxSessions/partOfNamespace:
		s.dropOldest(beside)
	}
	if len(s.by) >= maxSessions {
		s.dropOldest(func(*Session) bool { return true })
	}
}

func (s *Sessions) dropOldest(of func(*Session) bool) {
	var oldest [sha256.Size]byte
	var found *Session
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

// AddNote keeps a text in a session, under a key, for some time.
func (s *Sessions) AddNote(one *Session, key, text string, span time.Duration) {
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

// Note returns a text of a session; empty if there is none or it has expired.
func (s *Sessions) Note(one *Session, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := one.notes[key]
	if !ok || !s.clock.Now().Before(n.until) {
		return ""
	}
	return n.text
}

// TakeNote returns a text of a session and removes it; of concurrent requests one gets it.
func (s *Sessions) TakeNote(one *Session, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := one.notes[key]
	delete(one.notes, key)
	if !ok || !s.clock.Now().Before(n.until) {
		return ""
	}
	return n.text
}

// newSecret returns a random secret.
func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails: it would crash the program
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sameSecret compares two secrets in constant time.
func sameSecret(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
