package kube

import (
	"crypto/x509"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// ClientCertificate returns the current client certificate of a configuration; nil if it authenticates with a token
// or a command instead.
func ClientCertificate(config *rest.Config) (*x509.Certificate, error) {
	data := config.CertData
	if len(data) == 0 {
		if config.CertFile == "" {
			return nil, nil
		}
		var err error
		if data, err = os.ReadFile(config.CertFile); err != nil {
			return nil, fmt.Errorf("reading a client certificate: %w", err)
		}
	}
	certs, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil, fmt.Errorf("parsing a client certificate: %w", err)
	}
	return certs[0], nil
}
