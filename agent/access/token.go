package access

import (
	"context"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/clock"
)

// tokenLife is the requested lifetime of a token, in seconds.
const tokenLife int64 = 3600

// tokens caches the tokens of the ServiceAccount whose only right is to impersonate. A token is requested when it is
// needed, and kept in memory only.
type tokens struct {
	issue func(context.Context) (*authenticationv1.TokenRequest, error)
	clock clock.PassiveClock

	mu    sync.Mutex
	token string
	renew time.Time
}

// get returns a token with some lifetime left.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if t.token != "" && now.Before(t.renew) {
		return t.token, nil
	}
	// A caller that goes away must not fail the request for the others.
	got, err := t.issue(context.WithoutCancel(ctx))
	if err != nil {
		return "", err
	}
	// Renew it when a fifth of its lifetime is left.
	t.token, t.renew = got.Status.Token, now.Add(lifeOf(got, now)*4/5)
	return t.token, nil
}

// lifeOf returns the lifetime of a token. Both of its timestamps are from the member's clock, which may differ from
// the agent's.
func lifeOf(got *authenticationv1.TokenRequest, now time.Time) time.Duration {
	issued := got.CreationTimestamp.Time
	if issued.IsZero() {
		issued = now
	}
	return min(got.Status.ExpirationTimestamp.Sub(issued), time.Duration(tokenLife)*time.Second)
}

// forget drops a token that the member rejected.
func (t *tokens) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}
