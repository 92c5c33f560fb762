package approve

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// FuzzDecide checks that whatever is approved, for whatever request and requester, is a certificate for an agent whose
// name the token admits, or that the agent has already.
func FuzzDecide(f *testing.F) {
	raw, _ := pem.Decode(encode(f, nil))
	f.Add(raw.Bytes, "system:bootstrap:abc123", contract.BootstrapGroup, "edge-1", memberID, "", certificatesv1.KubeAPIServerClientSignerName, "client auth", 0)
	f.Add(raw.Bytes, "system:karmada:agent:edge-1", contract.AgentGroup, "edge-*", memberID, memberID, certificatesv1.KubeAPIServerClientSignerName, "client auth", 1)
	f.Add(raw.Bytes, "system:karmada:agent:edge-2", contract.AgentGroup, "*", otherID, memberID, certificatesv1.KubeletServingSignerName, "server auth", 2)
	f.Add([]byte("x"), "", "", "", "", "", "", "", 0)
	f.Fuzz(func(t *testing.T, der []byte, user, group, admitted, member, has, signer, usage string, uses int) {
		asked := certificatesv1.CertificateSigningRequestSpec{
			Request:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Username: user, Groups: []string{group}, SignerName: signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.KeyUsage(usage)}, ExpirationSeconds: new(int32(2592000)),
		}
		request, ours := Read(asked)
		if !ours {
			return
		}
		in := Input{
			Now: now(), Request: request, UID: "csr-1", MemberID: member,
			Token: &bootstrap.Token{ID: "abc123", Cluster: admitted, MaxUses: 1, Expires: now().Add(time.Hour)},
		}
		if uses > 0 {
			in.Token.Uses = []bootstrap.Use{{Request: "csr-0"}}
		}
		if has != "" {
			in.Cluster = &Cluster{ID: has}
		}
		got := Decide(in)
		if got.Message == "" || got.Reason == "" {
			t.Fatalf("decided %q without saying why", got.Verdict)
		}
		if got.Verdict == Approve {
			mustBeAnAgents(t, in, der, signer, usage)
		}
	})
}

// mustBeAnAgents checks the request independently of the code under test.
func mustBeAnAgents(t *testing.T, in Input, der []byte, signer, usage string) {
	t.Helper()
	parsed, err := x509.ParseCertificateRequest(der)
	if err != nil {
		t.Fatal(err)
	}
	subject := parsed.Subject.ToRDNSequence().String()
	name, isAgent := strings.CutPrefix(parsed.Subject.CommonName, "system:karmada:agent:")
	switch {
	case !isAgent, strings.Count(subject, "=") > 3, !strings.Contains(subject, "O=system:karmada:agents"):
		t.Fatalf("approved the subject %q", subject)
	case len(parsed.DNSNames)+len(parsed.EmailAddresses)+len(parsed.IPAddresses)+len(parsed.URIs) > 0:
		t.Fatal("approved alternative names")
	case signer != "kubernetes.io/kube-apiserver-client", usage != "client auth":
		t.Fatalf("approved %q of signer %q", usage, signer)
	case parsed.CheckSignature() != nil:
		t.Fatal("approved a request without its key")
	}
	agent := in.Request.User == "system:karmada:agent:"+name
	token := in.Request.User == "system:bootstrap:abc123" && in.Token.Admits(name) && len(in.Token.Uses) == 0
	if !agent && !token {
		t.Fatalf("approved %q for %q", name, in.Request.User)
	}
	if in.Cluster != nil && in.MemberID != "" && in.Cluster.ID != in.MemberID {
		t.Fatalf("gave the name %q of another member away", name)
	}
}
