package access

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
)

// tokenLife is how long a token is asked for, in seconds.
const tokenLife int64 = 3600

// tokens are those of the ServiceAccount that may only impersonate. They are asked for when needed and kept in memory.
type tokens struct {
	member memberAPI
	clock  clock.PassiveClock

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
	asked := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(tokenLife)}}
	path := "/api/v1/namespaces/" + contract.SystemNamespace + "/serviceaccounts/" + contract.ConnectName + "/token"
	var got authenticationv1.TokenRequest
	if err := t.member.do(context.WithoutCancel(ctx), http.MethodPost, path, asked, &got); err != nil {
		return "", fmt.Errorf("asking for a token of ServiceAccount %s/%s: %w", contract.SystemNamespace, contract.ConnectName, err)
	}
	// A fifth of its life is left for clocks that differ.
	t.token, t.renew = got.Status.Token, now.Add(got.Status.ExpirationTimestamp.Sub(now)*4/5)
	return t.token, nil
}

// forget drops a token that the member does not accept.
func (t *tokens) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}
