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

// User is a person or program that has signed in, with access to the hub's API with its own rights.
type User struct {
	Name   string
	Groups []string
	// Via names the way of signing in.
	Via string
	// Hub is a client of the hub's API that acts as this user.
	Hub client.Client
	// Config is the configuration of that client, for logs and for commands in pods. It is nil for a user of NewUser.
	Config *rest.Config
	// until is when the credential expires; zero if that is unknown.
	until time.Time
	// certificate is the hash of the client certificate that the user signed in with, which the browser must keep showing; zero for others.
	certificate [sha256.Size]byte
	// idToken is the token of a user who signed in at the issuer; nil for others.
	idToken *idToken
	// credential tracks whether the API still accepts the user's credential.
	credential credential

	clock  clock.PassiveClock
	mu     sync.Mutex
	rights map[Access]granted
}

// NewUser returns a user with a client that acts as them.
func NewUser(name string, hub client.Client, c clock.PassiveClock) *User {
	return &User{Name: name, Hub: hub, clock: c, rights: map[Access]granted{}}
}

// showsCertificate says whether a request comes with the client certificate that the user signed in with.
func (u *User) showsCertificate(r *http.Request) bool {
	if u.certificate == ([sha256.Size]byte{}) {
		return true
	}
	return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && sha256.Sum256(r.TLS.PeerCertificates[0].Raw) == u.certificate
}
