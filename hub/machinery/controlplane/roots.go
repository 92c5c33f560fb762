package main

import (
	"crypto/x509"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// trustPublicWeb makes this process trust the certificate authorities of the public web if the machine has none, as in
// the image: an OIDC issuer, an etcd or a webhook may have a certificate of one of them. The machine's own ones,
// SSL_CERT_FILE and SSL_CERT_DIR take precedence. It is called once, and only in processes that talk to such servers,
// since it takes half a megabyte.
func trustPublicWeb() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // The others are valid nevertheless.
		}
		if root.Constraint == nil {
			pool.AddCert(cert)
		} else {
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
}
