package approve

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// Request is what a certificate signing request asks for.
type Request struct {
	// Cluster is the name that the common name carries; empty if it carries none.
	Cluster string

	parsed *x509.CertificateRequest
}

// Read returns what a PEM encoded request asks for, and whether it is one of an agent,
// or of somebody who would be taken for one.
func Read(raw []byte) (Request, bool) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return Request{}, false
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return Request{}, false
	}
	cluster, isAgent := strings.CutPrefix(parsed.Subject.CommonName, contract.AgentUserPrefix)
	if !isAgent && !slices.Contains(parsed.Subject.Organization, contract.AgentGroup) {
		return Request{}, false
	}
	if !isAgent {
		cluster = ""
	}
	return Request{Cluster: cluster, parsed: parsed}, true
}

// wrong says what is wrong with a request, whoever makes it.
func (r Request) wrong(usages []certificatesv1.KeyUsage) error {
	user, ok := contract.AgentCluster(r.parsed.Subject.CommonName)
	if !ok {
		return fmt.Errorf("its common name must be %s and the name of the cluster", contract.AgentUserPrefix)
	}
	if err := bootstrap.ValidateClusterName(user); err != nil {
		return err
	}
	if !slices.Equal(r.parsed.Subject.Organization, []string{contract.AgentGroup}) || len(r.parsed.Subject.Names) != 2 {
		return fmt.Errorf("its subject must be the common name and the organization %s, and nothing else", contract.AgentGroup)
	}
	if r.hasAlternativeNames() {
		return errors.New("it must not ask for alternative names")
	}
	if !agentUsages(usages) {
		return fmt.Errorf("its usages must be %q and %q, with or without %q",
			certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth, certificatesv1.UsageKeyEncipherment)
	}
	if err := r.parsed.CheckSignature(); err != nil {
		return errors.New("it is not signed with its own key")
	}
	return nil
}

// hasAlternativeNames looks for the extension itself: not every kind of name in it has
// a field.
func (r Request) hasAlternativeNames() bool {
	subjectAltName := asn1.ObjectIdentifier{2, 5, 29, 17}
	for _, extension := range r.parsed.Extensions {
		if extension.Id.Equal(subjectAltName) {
			return true
		}
	}
	return false
}

func agentUsages(usages []certificatesv1.KeyUsage) bool {
	for _, usage := range usages {
		switch usage {
		case certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth, certificatesv1.UsageKeyEncipherment:
		default:
			return false
		}
	}
	return slices.Contains(usages, certificatesv1.UsageDigitalSignature) && slices.Contains(usages, certificatesv1.UsageClientAuth)
}
