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

// Renewal of ID tokens.
const (
	// renewBefore is how long before its expiry a token is renewed; a quarter of its life if that is shorter. It is also the tolerated
	// difference between the clocks of hub, API and issuer.
	renewBefore = time.Minute
	renewPart   = 4
	// renewAgain is the delay before an issuer that did not answer is asked again.
	renewAgain = 3 * time.Second
	// rejectAfter is the least age of a token that is renewed because the API refused it.
	rejectAfter = 30 * time.Second
)

// errEnded says that the issuer issues no more tokens for the person.
var errEnded = errors.New("the sign-in at the issuer has ended")

// renewer exchanges a refresh token for new tokens.
type renewer interface {
	Renew(ctx context.Context, old issuer.Tokens) (issuer.Tokens, error)
}

// idToken is the credential of a person who signed in at the issuer. It is renewed when it is used. It is safe for use by many goroutines.
type idToken struct {
	issuer renewer
	clock  clock.PassiveClock
	// renewing is held during a renewal, since many refresh tokens work once.
	renewing sync.Mutex

	mu     sync.Mutex
	tokens issuer.Tokens
	// got is the time of the last renewal, and due that of the next one.
	got, due time.Time
	// ended says that the tokens cannot be renewed any more. failed is the error of the last renewal, at the time tried.
	ended  bool
	failed error
	tried  time.Time
}

func newIDToken(i renewer, t issuer.Tokens, c clock.PassiveClock) *idToken {
	out := &idToken{issuer: i, clock: c}
	out.set(t)
	return out
}

// set replaces the tokens.
func (t *idToken) set(tokens issuer.Tokens) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	t.tokens, t.failed, t.got = tokens, nil, now
	t.due = tokens.Expiry.Add(-min(renewBefore, tokens.Expiry.Sub(now)/renewPart))
}

// last returns the present tokens.
func (t *idToken) last() issuer.Tokens {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tokens
}

// hasEnded says that the issuer issues no more tokens for this person.
func (t *idToken) hasEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// reject notes that the API refused a token, so that it is renewed at the next use. A new token is not renewed: the API would refuse the
// next one, too, and each request of a user unknown to the API would go to the issuer.
func (t *idToken) reject(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock.Now(); token == t.tokens.ID && now.Sub(t.got) >= rejectAfter {
		t.due = now
	}
}

// current returns a valid ID token. The error is errEnded if there will be none any more.
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
	// The renewal goes on if the browser disconnects: otherwise the refresh token would be used up and the answer lost.
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

// cached returns a token without asking the issuer, if it can.
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

// bearer is a transport that adds the ID token to requests to the API.
type bearer struct {
	next  http.RoundTripper
	token *idToken
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.token.current(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper must close the body
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

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (b bearer) WrappedRoundTripper() http.RoundTripper { return b.next }

// IsEnded says whether the cause of an error is that the issuer issues no more tokens for somebody.
func IsEnded(err error) bool { return errors.Is(err, errEnded) }
