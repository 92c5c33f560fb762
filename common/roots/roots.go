// Package roots provides the certificate authorities of the public web for machines without any: the container images
// contain only the programs. OpenID Connect issuers, interpreter webhooks and foreign APIs may have certificates from
// one of them.
package roots

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Fallback makes this process trust the authorities of the public web where no other trust is configured and the
// machine has none of its own: its files, SSL_CERT_FILE and SSL_CERT_DIR take precedence. It takes half a megabyte
// and some milliseconds, so callers call it only when they are about to need it. It may be called repeatedly and
// concurrently.
func Fallback() { fallback() }

// fallback runs once: Go accepts the setting only once.
var fallback = sync.OnceFunc(func() { //nolint:gochecknoglobals // Of the whole process, as what it sets is.
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // The others are still valid.
		}
		if root.Constraint == nil {
			pool.AddCert(cert)
		} else {
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
})
