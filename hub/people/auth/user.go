package auth

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// User is somebody who has signed in, and the way to the hub's API with their own rights.
type User struct {
	Name   string
	Groups []string
	// Via says how they signed in.
	Via string
	// Hub reaches the hub's API as this user.
	Hub client.Client
	// Config is the same way, for what a client.Client cannot do: logs, and commands in pods. It is nil for a user of
	// NewUser.
	Config *rest.Config
	// until is when their credential ends; zero if that is not known.
	until time.Time
	// certificate is the hash of the one that they signed in with; the browser must go on
	// showing it.
	certificate [sha256.Size]byte
	// idToken is the token of somebody who signed in at the issuer; nil for others.
	idToken *idToken
	// credential tracks whether the API still accepts the user's credential.
	credential credential

	clock  clock.PassiveClock
	mu     sync.Mutex
	rights map[Access]granted
}

// NewUser returns a user who reaches the hub's API by a client that acts as them.
func NewUser(name string, hub client.Client, c clock.PassiveClock) *User {
	return &User{Name: name, Hub: hub, clock: c, rights: map[Access]granted{}}
}

// showsCertificate says whether the browser still shows the certificate that the user signed in with.
func (u *User) showsCertificate(r *http.Request) bool {
	if u.certificate == ([sha256.Size]byte{}) {
		return true
	}
	return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && sha256.Sum256(r.TLS.PeerCertificates[0].Raw) == u.certificate
}
