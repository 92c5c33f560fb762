package approve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

const (
	memberID = "0d4ef0b2-1111-4222-8333-944445555666"
	otherID  = "5a1c2b3d-9999-4888-8777-666655554444"
)

// encode creates a request of the agent of edge-1, altered by change.
func encode(tb testing.TB, change func(*x509.CertificateRequest)) []byte {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.CertificateRequest{
		Subject: pkix.Name{
			CommonName: "system:karmada:agent:edge-1", Organization: []string{"system:karmada:agents", "fairlead.dev:join:" + contract.JoinID(public)},
		},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// spec returns a request as made by the holder of a token.
func spec(raw []byte) certificatesv1.CertificateSigningRequestSpec {
	return certificatesv1.CertificateSigningRequestSpec{
		Request:    raw,
		SignerName: certificatesv1.KubeAPIServerClientSignerName,
		Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		// 30 days
		ExpirationSeconds: new(int32(2592000)),

		Username: "system:bootstrap:abc123",
		Groups:   []string{"system:bootstrappers", contract.BootstrapGroup, "system:authenticated"},
	}
}

func read(t *testing.T, change func(*x509.CertificateRequest)) Request {
	t.Helper()
	request, ok := Read(spec(encode(t, change)))
	if !ok {
		t.Fatal("not the request of an agent")
	}
	return request
}

func now() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// valid returns an input that is approved.
func valid(t *testing.T) Input {
	t.Helper()
	return Input{
		Now:      now(),
		Request:  read(t, nil),
		UID:      "csr-1",
		MemberID: memberID,
		Token:    &bootstrap.Token{ID: "abc123", Cluster: "edge-1", MaxUses: 1, Expires: now().Add(time.Hour)},
	}
}

func TestReadKnowsWhatIsToBeDecided(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change      func(*x509.CertificateRequest)
		who         func(*certificatesv1.CertificateSigningRequestSpec)
		wantOurs    bool
		wantCluster string
	}{
		"of an agent": {wantOurs: true, wantCluster: "edge-1"},
		"of somebody with the group": {
			change: func(r *x509.CertificateRequest) { r.Subject.CommonName = "alice" }, who: somebody, wantOurs: true,
		},
		"of somebody with the name": {
			change: func(r *x509.CertificateRequest) { r.Subject.Organization = nil }, who: somebody, wantOurs: true, wantCluster: "edge-1",
		},
		"of somebody else": {
			change: func(r *x509.CertificateRequest) { r.Subject = pkix.Name{CommonName: "system:node:n1"} }, who: somebody,
		},
		"of the holder of a token who wants to be somebody else": {
			change: func(r *x509.CertificateRequest) { r.Subject = pkix.Name{CommonName: "system:node:n1"} }, wantOurs: true,
		},
		"of an agent that wants to be somebody else": {
			change: func(r *x509.CertificateRequest) {
				r.Subject = pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}
			},
			who:      func(s *certificatesv1.CertificateSigningRequestSpec) { s.Groups = []string{contract.AgentGroup} },
			wantOurs: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			asked := spec(encode(t, tc.change))
			if tc.who != nil {
				tc.who(&asked)
			}
			request, ours := Read(asked)
			g.Expect(ours).To(Equal(tc.wantOurs))
			g.Expect(request.Cluster).To(Equal(tc.wantCluster))
		})
	}
	for _, junk := range [][]byte{[]byte("nonsense"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("nonsense")})} {
		g := NewWithT(t)
		request, ours := Read(spec(junk))
		g.Expect(ours).To(BeTrue(), "who has a token may ask for nothing else, and is told so")
		g.Expect(Decide(Input{Request: request, MemberID: memberID}).Reason).To(Equal(contract.ReasonMalformedRequest))
		asked := spec(junk)
		somebody(&asked)
		_, ours = Read(asked)
		g.Expect(ours).To(BeFalse())
	}
}
