package auth

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/issuer"
)

// How ID tokens are renewed.
const (
	// renewBefore is how long before its end a token is renewed, or a quarter of its life if that is shorter. It is also
	// how far the clocks of hub, API and issuer may differ.
	renewBefore = time.Minute
	renewPart   = 4
	// renewAgain is how long an issuer that did not answer is not asked again.
	renewAgain = 3 * time.Second
	// rejectAfter is how old a token is that is renewed because the API does not accept it.
	rejectAfter = 30 * time.Second
)

// errEnded says that the issuer does not vouch for somebody any more.
var errEnded = errors.New("the sign-in at the issuer has ended")

// renewer brings new tokens for old.
type renewer interface {
	Renew(ctx context.Context, old issuer.Tokens) (issuer.Tokens, error)
}

// idToken is the credential of somebody who signed in at the issuer. It is renewed when it is used. It may be used
// by many goroutines.
type idToken struct {
	issuer renewer
	clock  clock.PassiveClock
	// renewing is held by the one who renews. Refresh tokens are often good once.
	renewing sync.Mutex

	mu     sync.Mutex
	tokens issuer.Tokens
	// got is since when there are these, due from when they are to be renewed.
	got, due time.Time
	// ended says that it cannot be; failed is why the last try came to nothing, at the time tried.
	ended  bool
	failed error
	tried  time.Time
}

func newIDToken(i renewer, t issuer.Tokens, c clock.PassiveClock) *idToken {
	out := &idToken{issuer: i, clock: c}
	out.set(t)
	return out
}

// set takes new tokens.
func (t *idToken) set(tokens issuer.Tokens) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	t.tokens, t.failed, t.got = tokens, nil, now
	t.due = tokens.Expiry.Add(-min(renewBefore, tokens.Expiry.Sub(now)/renewPart))
}

// last returns the tokens as they are.
func (t *idToken) last() issuer.Tokens {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tokens
}

// hasEnded says that the issuer vouches for this person no more.
func (t *idToken) hasEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// reject says that the API did not accept a token: it is renewed when it is used next. A new one is not, since the API would
// not accept the next either, and the issuer were asked for each request of whom the API does not know.
func (t *idToken) reject(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock.Now(); token == t.tokens.ID && now.Sub(t.got) >= rejectAfter {
		t.due = now
	}
}

// current returns an ID token that holds. The error is errEnded if there will be none any more.
func (t *idToken) current(ctx context.Context) (string, error) {
	if token, err, settled := t.cached(); settled {
		return token, err
	}
	if !t.renewing.TryLock() {
		if token, ok := t.unexpired(); ok {
			return token, nil // somebody else is waiting for the issuer
		}
		t.renewing.Lock()
	}
	defer t.renewing.Unlock()
	if token, err, settled := t.cached(); settled {
		return token, err
	}
	// The browser may go away; a refresh token that the issuer took would be lost with the answer.
	tokens, err := t.issuer.Renew(context.WithoutCancel(ctx), t.last())
	if err == nil {
		t.set(tokens)
		return tokens.ID, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed, t.tried = err, t.clock.Now()
	var no issuer.RefusedError
	if t.ended = errors.As(err, &no); t.ended {
		return "", errEnded
	}
	if t.clock.Now().Before(t.tokens.Expiry) {
		return t.tokens.ID, nil
	}
	return "", err
}

// cached answers without the issuer, if that can be.
func (t *idToken) cached() (token string, err error, settled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	holds := now.Before(t.tokens.Expiry)
	switch {
	case t.ended:
		return "", errEnded, true
	case now.Before(t.due) || holds && t.tokens.Refresh == "":
		return t.tokens.ID, nil, true
	case t.tokens.Refresh == "":
		t.ended = true
		return "", errEnded, true
	case t.failed == nil || now.Sub(t.tried) >= renewAgain:
		return "", nil, false
	case holds:
		return t.tokens.ID, nil, true
	default:
		return "", t.failed, true
	}
}

func (t *idToken) unexpired() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tokens.ID, t.clock.Now().Before(t.tokens.Expiry)
}

// bearer shows the API an ID token.
type bearer struct {
	next  http.RoundTripper
	token *idToken
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.token.current(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // nobody reads it
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := b.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		b.token.reject(token)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find what it wrapped.
func (b bearer) WrappedRoundTripper() http.RoundTripper { return b.next }

// IsEnded says whether something failed since the issuer vouches for somebody no more.
func IsEnded(err error) bool { return errors.Is(err, errEnded) }
