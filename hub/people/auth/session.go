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

// Session is one sign-in of a user in one browser.
type Session struct {
	User *User
	// CSRF is in every form, and comes back with it.
	CSRF string
	// ends is when it ends in any case; used is when it was used last.
	ends, used time.Time
	// notes are texts that a page is to show, such as a join command with its secret, by key.
	notes map[string]note
}

// note is one of these texts, and until when the session keeps it.
type note struct {
	text  string
	until time.Time
}

// Sessions are all sessions. The keys are hashes, so that the memory of the hub does not
// hold what a browser has to show.
type Sessions struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	by    map[[sha256.Size]byte]*Session
}

// NewSessions returns Sessions without any.
func NewSessions(c clock.PassiveClock) *Sessions {
	return &Sessions{clock: c, by: map[[sha256.Size]byte]*Session{}}
}

// Open begins a session and returns the secret by which it is found again.
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

// Get returns the session of a secret, nil if there is none. It does not use it: a page that is open asks by itself.
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

// Alive says whether a session has not ended, without using it.
func (s *Sessions) Alive(one *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !one.hasEnded(s.clock.Now())
}

// Use says that somebody uses a session: that they load a page, or type into a terminal. It brings no session back that has
// ended.
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
		one.ends = time.Time{} // its streams see it
		delete(s.by, key)
	}
}

// IsCSRF says whether the token that came with a form is that of this session, so that the form is from one of its pages.
func (o *Session) IsCSRF(csrf string) bool { return sameSecret(csrf, o.CSRF) }

func (o *Session) hasEnded(now time.Time) bool {
	return !now.Before(o.ends) || now.Sub(o.used) > sessionIdle || !o.User.hasValidCredential()
}

// evict makes room for one more: it drops those that ended, then the least used of the same person, then of the service accounts of
// the same namespace, then the least used of all.
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

// AddNote remembers a text in a session, under a key, for some time.
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

// Note returns a note of a session; empty if there is none, or if its time is over.
func (s *Sessions) Note(one *Session, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := one.notes[key]
	if !ok || !s.clock.Now().Before(n.until) {
		return ""
	}
	return n.text
}

// TakeNote returns a note of a session and removes it: of several requests at the same time one gets the note.
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

// newSecret returns what nobody guesses.
func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // it never fails: the program would have ended
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sameSecret compares without telling by the time where two secrets differ.
func sameSecret(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
