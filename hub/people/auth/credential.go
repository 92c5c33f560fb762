package auth

import (
	"context"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// How it is found out that a credential does not count any more while a terminal or a log is open, which asks the hub for nothing.
const (
	askEvery = time.Minute
	// askAgain is how soon the API is asked again that did not accept a credential, and maxRefusals how often in a row it does not
	// until that is believed: an API server that has just started accepts no ID token before it has reached the issuer.
	askAgain    = 10 * time.Second
	maxRefusals = 3
)

// credential tracks whether the API still accepts the credential of a user.
type credential struct {
	mu sync.Mutex
	// asking says that it is being asked, next when it is to be asked.
	asking bool
	next   time.Time
	// refusals is how often in a row it did not accept it.
	refusals int
}

// Alive says whether a session has not ended, without using it. Every minute it has the API asked, as the user and beside the
// caller, who this is: that renews an ID token that is due. An API that does not answer ends nothing.
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

// hasValidCredential says whether the credential of the user was not found to have ended.
func (u *User) hasValidCredential() bool {
	if u.idToken != nil && u.idToken.hasEnded() {
		return false
	}
	u.credential.mu.Lock()
	defer u.credential.mu.Unlock()
	return u.credential.refusals < maxRefusals
}
