package access

import (
	"context"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/clock"
)

// tokenLife is how long a token is asked for, in seconds.
const tokenLife int64 = 3600

// tokens caches the tokens of the ServiceAccount whose only right is to impersonate. A token is requested when it is needed, and kept in memory only.
type tokens struct {
	issue func(context.Context) (*authenticationv1.TokenRequest, error)
	clock clock.PassiveClock

	mu    sync.Mutex
	token string
	renew time.Time
}

// get returns a token that is valid for some time yet.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if t.token != "" && now.Before(t.renew) {
		return t.token, nil
	}
	// One who asks and goes away decides nothing for the others.
	got, err := t.issue(context.WithoutCancel(ctx))
	if err != nil {
		return "", err
	}
	// A fifth of its life is left.
	t.token, t.renew = got.Status.Token, now.Add(lifeOf(got, now)*4/5)
	return t.token, nil
}

// lifeOf is how long a token lives. Both of its times are of the member's clock, which may be another than the agent's.
func lifeOf(got *authenticationv1.TokenRequest, now time.Time) time.Duration {
	issued := got.CreationTimestamp.Time
	if issued.IsZero() {
		issued = now
	}
	return min(got.Status.ExpirationTimestamp.Sub(issued), time.Duration(tokenLife)*time.Second)
}

// forget drops a token that the member does not accept.
func (t *tokens) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}
