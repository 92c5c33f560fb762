package authenticator

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

const (
	// keep is how long the result for a certificate is cached.
	keep = 10 * time.Second
	// credentialPrefix is the prefix of a certificate's hash in the API server's credential id.
	credentialPrefix = "X509SHA256="
)

// New returns an authenticator that caches, by certificate, what next returned recently. Proxied is the header in which
// a proxy names the user: such a request is not made by the owner of the certificate, and always goes to next. It is
// safe for concurrent use.
func New(next authenticator.Request, proxied string, clk clock.Clock) authenticator.Request {
	return &cachingAuthenticator{next: next, proxied: proxied, clock: clk, known: utilcache.NewExpiringWithClock(clk)}
}

// cachingAuthenticator implements authenticator.Request.
type cachingAuthenticator struct {
	next    authenticator.Request
	proxied string
	clock   clock.Clock
	// known has responses, by the hash of all certificates that the client presented.
	known *utilcache.Expiring
}

// AuthenticateRequest implements authenticator.Request.
func (r *cachingAuthenticator) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 || len(req.Header.Values(r.proxied)) > 0 {
		return r.next.AuthenticateRequest(req) //nolint:wrapcheck // It is the delegate's answer.
	}
	presented := req.TLS.PeerCertificates
	key := hashOf(presented)
	if response, ok := r.known.Get(key); ok {
		if known, ok := response.(*authenticator.Response); ok {
			return known, true, nil
		}
	}
	response, ok, err := r.next.AuthenticateRequest(req)
	if err != nil || !ok || !isAuthenticatedBy(response, presented[0]) {
		return response, ok, err //nolint:wrapcheck // It is the delegate's answer.
	}
	rest := keep
	for _, cert := range presented {
		rest = min(rest, cert.NotAfter.Sub(r.clock.Now()))
	}
	if rest > 0 {
		r.known.Set(key, response, rest)
	}
	return response, true, nil
}

// isAuthenticatedBy says whether the user was authenticated by the certificate, and not by a token in the same request.
func isAuthenticatedBy(response *authenticator.Response, cert *x509.Certificate) bool {
	hash := sha256.Sum256(cert.Raw)
	return slices.Equal(response.User.GetExtra()[user.CredentialIDKey], []string{credentialPrefix + hex.EncodeToString(hash[:])})
}

func hashOf(certs []*x509.Certificate) [sha256.Size]byte {
	if len(certs) == 1 {
		return sha256.Sum256(certs[0].Raw)
	}
	all := sha256.New()
	for _, cert := range certs {
		all.Write(cert.Raw)
	}
	return [sha256.Size]byte(all.Sum(nil))
}
