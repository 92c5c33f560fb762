package approve

import (
	"crypto/rsa"
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

// Request is what a certificate signing request asks for, and who asks.
type Request struct {
	// Cluster is the name that the common name carries; empty if it carries none.
	Cluster string
	// User and Groups are who asks, as the API server authenticated them.
	User   string
	Groups []string

	signer string
	usages []certificatesv1.KeyUsage
	parsed *x509.CertificateRequest
}

// Read returns what is asked for, and whether it is for us to decide: the certificate is
// one of an agent, or of somebody who would be taken for one, or it is an agent or the
// holder of a join token who asks, who may have no other.
func Read(spec certificatesv1.CertificateSigningRequestSpec) (Request, bool) {
	block, _ := pem.Decode(spec.Request)
	if block == nil {
		return Request{}, false
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return Request{}, false
	}
	cluster, isAgent := strings.CutPrefix(parsed.Subject.CommonName, contract.AgentUserPrefix)
	if !isAgent {
		cluster = ""
	}
	ours := isAgent || slices.Contains(parsed.Subject.Organization, contract.AgentGroup) ||
		slices.Contains(spec.Groups, contract.AgentGroup) || slices.Contains(spec.Groups, contract.BootstrapGroup)
	return Request{
		Cluster: cluster, User: spec.Username, Groups: spec.Groups, signer: spec.SignerName, usages: spec.Usages, parsed: parsed,
	}, ours
}

// PublicKey is the key that is to be certified.
func (r Request) PublicKey() any { return r.parsed.PublicKey }

// wrong says what is wrong with a request, whoever makes it.
func (r Request) wrong() error {
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
	if r.signer != certificatesv1.KubeAPIServerClientSignerName {
		return fmt.Errorf("its signer must be %s", certificatesv1.KubeAPIServerClientSignerName)
	}
	if !agentUsages(r.usages) {
		return fmt.Errorf("its usages must be %q and %q, with or without %q",
			certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth, certificatesv1.UsageKeyEncipherment)
	}
	if key, ok := r.parsed.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < shortestRSA {
		return fmt.Errorf("its key must have %d bits at least", shortestRSA)
	}
	if err := r.parsed.CheckSignature(); err != nil {
		return errors.New("it is not signed with its own key")
	}
	return nil
}

// shortestRSA is below what nobody should trust a key any more.
const shortestRSA = 2048

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
