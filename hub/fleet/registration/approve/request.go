package approve

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// Request is what a certificate signing request asks for, and who made it.
type Request struct {
	// Cluster is the name in the common name; empty if it has none.
	Cluster string
	// User and Groups identify the requester, as the API server authenticated it.
	User   string
	Groups []string
	// Join is the id of the join whose group is requested; empty if none is.
	Join string
	// Credential is the fingerprint of the certificate that authenticated the request; empty if there was none, or the
	// API server does not report it.
	Credential string

	signer   string
	usages   []certificatesv1.KeyUsage
	lifetime *int32
	raw      []byte
	parsed   *x509.CertificateRequest
}

// Read returns the parsed request, and whether this stage decides about it: it asks for an agent's certificate or one
// that could pass for it, or its requester is an agent or the holder of a join token, who may request nothing else.
func Read(spec certificatesv1.CertificateSigningRequestSpec) (Request, bool) {
	asksForItself := slices.Contains(spec.Groups, contract.AgentGroup) || slices.Contains(spec.Groups, contract.BootstrapGroup)
	out := Request{
		User: spec.Username, Groups: spec.Groups, signer: spec.SignerName, usages: spec.Usages, lifetime: spec.ExpirationSeconds, raw: spec.Request,
	}
	if id := spec.Extra[contract.CredentialIDKey]; len(id) == 1 {
		out.Credential, _ = strings.CutPrefix(id[0], contract.CredentialIDPrefix)
	}
	block, _ := pem.Decode(spec.Request)
	if block == nil {
		return out, asksForItself
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return out, asksForItself
	}
	out.parsed = parsed
	cluster, isAgent := strings.CutPrefix(parsed.Subject.CommonName, contract.AgentUserPrefix)
	if !isAgent {
		cluster = ""
	}
	out.Cluster = cluster
	out.Join = contract.JoinOf(parsed.Subject.Organization)
	organizations := parsed.Subject.Organization
	ours := asksForItself || isAgent || slices.Contains(organizations, contract.AgentGroup) || out.Join != ""
	return out, ours
}

// ownJoin returns the id of the join that this request would make.
func (r Request) ownJoin() string { return contract.JoinID(r.parsed.RawSubjectPublicKeyInfo) }

// PublicKey is the key to certify; nil if the request cannot be parsed.
func (r Request) PublicKey() crypto.PublicKey {
	if r.parsed == nil {
		return nil
	}
	return r.parsed.PublicKey
}

// wrong returns what is wrong with a request, regardless of the requester.
func (r Request) wrong() error {
	if r.parsed == nil {
		return errors.New("it cannot be read")
	}
	if err := r.padded(); err != nil {
		return err
	}
	user, ok := contract.AgentCluster(r.parsed.Subject.CommonName)
	if !ok {
		return fmt.Errorf("its common name must be %s and the name of the cluster", contract.AgentUserPrefix)
	}
	if err := bootstrap.ValidateClusterName(user); err != nil {
		return err
	}
	organizations := []string{contract.AgentGroup}
	if r.Join != "" {
		organizations = append(organizations, contract.JoinGroup(r.Join))
	}
	asked := r.parsed.Subject.Organization
	if len(asked) != len(organizations) || len(r.parsed.Subject.Names) != len(organizations)+1 ||
		slices.ContainsFunc(organizations, func(o string) bool { return !slices.Contains(asked, o) }) {
		return fmt.Errorf("its subject must be the common name, the organization %s and that of its join, and nothing else", contract.AgentGroup)
	}
	if len(r.parsed.Extensions) > 0 {
		return errors.New("it must not ask for extensions, such as alternative names")
	}
	if r.signer != certificatesv1.KubeAPIServerClientSignerName {
		return fmt.Errorf("its signer must be %s", certificatesv1.KubeAPIServerClientSignerName)
	}
	if !agentUsages(r.usages) {
		return fmt.Errorf("its usages must be %q and %q, with or without %q",
			certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth, certificatesv1.UsageKeyEncipherment)
	}
	if key, ok := r.parsed.PublicKey.(*rsa.PublicKey); ok && (key.N.BitLen() < shortestRSA || key.N.BitLen() > longestRSA) {
		return fmt.Errorf("its key must have between %d and %d bits", shortestRSA, longestRSA)
	}
	if r.Join != "" && (r.lifetime == nil || *r.lifetime > contract.CertificateLifetimeSeconds) {
		return fmt.Errorf("its expirationSeconds must be at most %d", contract.CertificateLifetimeSeconds)
	}
	if err := r.parsed.CheckSignature(); err != nil {
		return errors.New("it is not signed with its own key")
	}
	return nil
}

const (
	// Below shortestRSA a key is not to be trusted; above longestRSA checking it costs more than it gains.
	shortestRSA, longestRSA = 2048, 4096
	// largest is the greatest size of an agent's request, in bytes.
	largest = 4096
)

// padded returns an error if a request contains more than what is to be signed.
func (r Request) padded() error {
	block, rest := pem.Decode(r.raw)
	if len(r.raw) > largest || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 || !bytes.HasPrefix(r.raw, []byte("-----BEGIN ")) {
		return fmt.Errorf("it must be one block of PEM of at most %d bytes, with nothing around it", largest)
	}
	return nil
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
