package auth

import (
	"context"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// How to find out that a credential has become invalid while a terminal or a log is open, which sends no requests to the hub's API.
const (
	askEvery = time.Minute
	// askAgain is the delay before a credential that the API refused is checked again, and maxRefusals the number of refusals in a row that
	// count: an API server that has just started accepts no ID token before it has reached the issuer.
	askAgain    = 10 * time.Second
	maxRefusals = 3
)

// credential tracks whether the API still accepts the credential of a user.
type credential struct {
	mu sync.Mutex
	// asking says that a check is in progress, and next when the next one is due.
	asking bool
	next   time.Time
	// refusals counts the refusals in a row.
	refusals int
}

// Alive says whether a session has not ended, and does not count as its use. Once a minute it has the API asked, as the user and in the
// background, who the user is; that also renews an ID token. An API that does not answer ends no session.
func (s *SignIn) Alive(ctx context.Context, one *Session) bool {
	one.User.ask(ctx)
	return s.Sessions.Alive(one)
}

func (u *User) ask(ctx context.Context) {
	u.credential.mu.Lock()
	defer u.credential.mu.Unlock()
	if u.credential.asking || u.clock.Now().Before(u.credential.next) {
		return
	}
	u.credential.asking = true
	go func() {
		bounded, cancel := context.WithTimeout(ctx, apiTimeout)
		defer cancel()
		u.recordAnswer(u.Hub.Create(bounded, &authenticationv1.SelfSubjectReview{}))
	}()
}

func (u *User) recordAnswer(err error) {
	u.credential.mu.Lock()
	defer u.credential.mu.Unlock()
	rest := askEvery
	switch {
	case apierrors.IsUnauthorized(err):
		u.credential.refusals++
		rest = askAgain
	case err == nil:
		u.credential.refusals = 0
	}
	u.credential.asking, u.credential.next = false, u.clock.Now().Add(rest)
}

// hasValidCredential says whether the user's credential was not found to be invalid.
func (u *User) hasValidCredential() bool {
	if u.idToken != nil && u.idToken.hasEnded() {
		return false
	}
	u.credential.mu.Lock()
	defer u.credential.mu.Unlock()
	return u.credential.refusals < maxRefusals
}
