package approve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
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

// encode makes a request; change says in what it is not one of the agent of edge-1.
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

// spec is that of a request that the holder of a token made.
func spec(raw []byte) certificatesv1.CertificateSigningRequestSpec {
	return certificatesv1.CertificateSigningRequestSpec{
		Request:    raw,
		SignerName: certificatesv1.KubeAPIServerClientSignerName,
		Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		// A month.
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

// valid is an input that is approved.
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

// somebody is one who neither is an agent nor has a token.
func somebody(s *certificatesv1.CertificateSigningRequestSpec) {
	s.Username, s.Groups = "alice", []string{"system:authenticated"}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request    func(*x509.CertificateRequest)
		change     func(in *Input)
		want       Verdict
		wantReason string
		wantJoin   bool
	}{
		"a new member with a fresh token joins": {want: Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true},
		"key encipherment may be asked for": {
			change: func(in *Input) { in.Request.usages = append(in.Request.usages, certificatesv1.UsageKeyEncipherment) },
			want:   Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"a token without an end joins": {
			change: func(in *Input) { in.Token.Expires = time.Time{} },
			want:   Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"the same member comes back with a token that was made for it": {
			change: func(in *Input) { in.Cluster, in.Token.Member = &Cluster{ID: memberID}, memberID },
			want:   Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"somebody says to be a member that has joined, with a token of its name": {
			change: func(in *Input) { in.Cluster = &Cluster{ID: memberID} },
			want:   Wait, wantReason: contract.ReasonAwaitingApproval,
		},
		"somebody says to be a member that has joined, with a token for many": {
			change: func(in *Input) { in.Cluster, in.Token.Cluster, in.Token.MaxUses = &Cluster{ID: memberID}, "edge-*", 9 },
			want:   Wait, wantReason: contract.ReasonAwaitingApproval,
		},
		"somebody says to be a member that was forgotten, with a token for many": {
			change: func(in *Input) { in.ReservedFor, in.Token.Cluster, in.Token.MaxUses = memberID, "edge-*", 9 },
			want:   Wait, wantReason: contract.ReasonAwaitingApproval,
		},
		"an operator accepts that a member joins again": {
			change: func(in *Input) {
				in.Cluster, in.Token.Accepted = &Cluster{ID: memberID}, []bootstrap.Acceptance{{Request: in.UID, By: "ann"}}
			},
			want: Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"no join": {
			request: func(r *x509.CertificateRequest) { r.Subject.Organization = []string{contract.AgentGroup} },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"the join of another key": {
			request: func(r *x509.CertificateRequest) {
				r.Subject.Organization = []string{contract.AgentGroup, contract.JoinGroup(strings.Repeat("a", 32))}
			},
			want: Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"two joins": {
			request: func(r *x509.CertificateRequest) {
				r.Subject.Organization = append(r.Subject.Organization, contract.JoinGroup(strings.Repeat("a", 32)))
			},
			want: Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a certificate for longer than a month": {
			change: func(in *Input) { in.Request.lifetime = new(int32(2592001)) },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a certificate for as long as the signer likes": {
			change: func(in *Input) { in.Request.lifetime = nil },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"something after the request": {
			change: func(in *Input) { in.Request.raw = append(in.Request.raw, "junk"...) },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"something before the request": {
			change: func(in *Input) { in.Request.raw = append([]byte("junk\n"), in.Request.raw...) },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"headers in the request": {
			change: func(in *Input) {
				in.Request.raw = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: in.Request.parsed.Raw, Headers: map[string]string{"a": "b"}})
			},
			want: Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"more than any request needs": {
			change: func(in *Input) { in.Request.raw = append(in.Request.raw, strings.Repeat("\n", 4096)...) },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"an extension": {
			request: func(r *x509.CertificateRequest) {
				r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}}}
			},
			want: Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a Cluster that was made beforehand is joined": {
			change: func(in *Input) { in.Cluster = &Cluster{} },
			want:   Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"a join that had begun goes on": {
			change: func(in *Input) {
				in.Token.Uses = []bootstrap.Use{{Cluster: "edge-1", Member: memberID, Request: in.UID}}
				in.Token.Expires = in.Now.Add(-time.Minute)
				in.Cluster = &Cluster{ID: memberID}
			},
			want: Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"another common name": {
			request: func(r *x509.CertificateRequest) { r.Subject.CommonName = "alice" },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"no cluster in the common name": {
			request: func(r *x509.CertificateRequest) { r.Subject.CommonName = contract.AgentUserPrefix },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a name that no cluster can have": {
			request: func(r *x509.CertificateRequest) { r.Subject.CommonName = contract.AgentUser("Edge_1") },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a name that is too long": {
			request: func(r *x509.CertificateRequest) { r.Subject.CommonName = contract.AgentUser(strings.Repeat("e", 49)) },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"no organization": {
			request: func(r *x509.CertificateRequest) { r.Subject.Organization = nil },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"another organization besides": {
			request: func(r *x509.CertificateRequest) {
				r.Subject.Organization = append(r.Subject.Organization, "system:masters")
			},
			want: Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"something else in the subject": {
			request: func(r *x509.CertificateRequest) { r.Subject.OrganizationalUnit = []string{"x"} },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a DNS name": {
			request: func(r *x509.CertificateRequest) { r.DNSNames = []string{"hub"} },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"an address": {
			request: func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"an e-mail address": {
			request: func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a URI": {
			request: func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} },
			want:    Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a kind of alternative name that has no field": {
			request: func(r *x509.CertificateRequest) {
				// A sequence of one otherName.
				value := []byte{0x30, 0x0b, 0xa0, 0x09, 0x06, 0x03, 0x2a, 0x03, 0x04, 0xa0, 0x02, 0x05, 0x00}
				r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}}
			},
			want: Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"server auth": {
			change: func(in *Input) { in.Request.usages = append(in.Request.usages, certificatesv1.UsageServerAuth) },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"no client auth": {
			change: func(in *Input) { in.Request.usages = in.Request.usages[:1] },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a user without a token": {
			change: func(in *Input) { in.Request.User = "alice" },
			want:   Deny, wantReason: contract.ReasonNotAToken,
		},
		"a token that is not for joining": {
			change: func(in *Input) { in.Request.Groups = []string{"system:bootstrappers"} },
			want:   Deny, wantReason: contract.ReasonNotAToken,
		},
		"a token that is gone": {
			change: func(in *Input) { in.Token = nil },
			want:   Deny, wantReason: contract.ReasonTokenUnknown,
		},
		"a token that has expired": {
			change: func(in *Input) { in.Token.Expires = in.Now },
			want:   Deny, wantReason: contract.ReasonTokenExpired,
		},
		"a token of another cluster": {
			change: func(in *Input) { in.Token.Cluster = "edge-2" },
			want:   Deny, wantReason: contract.ReasonTokenOfAnotherCluster,
		},
		"a token of no cluster": {
			change: func(in *Input) { in.Token.Cluster = "" },
			want:   Deny, wantReason: contract.ReasonTokenOfAnotherCluster,
		},
		"a token that another member used": {
			change: func(in *Input) {
				in.Token.Uses = []bootstrap.Use{{Cluster: "edge-1", Member: otherID, Request: "csr-0"}}
			},
			want: Deny, wantReason: contract.ReasonTokenUsed,
		},
		"a token that the member used for another request": {
			change: func(in *Input) {
				in.Token.Uses = []bootstrap.Use{{Cluster: "edge-1", Member: memberID, Request: "csr-0"}}
			},
			want: Deny, wantReason: contract.ReasonTokenUsed,
		},
		"a token for many that has a use left": {
			change: func(in *Input) {
				in.Token.Cluster, in.Token.MaxUses, in.Token.Uses = "edge-*", 2, []bootstrap.Use{{Cluster: "edge-9", Request: "csr-9"}}
			},
			want: Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"a token for many that has none left": {
			change: func(in *Input) {
				in.Token.Cluster, in.Token.MaxUses, in.Token.Uses = "edge-*", 2, []bootstrap.Use{{Request: "csr-8"}, {Request: "csr-9"}}
			},
			want: Deny, wantReason: contract.ReasonTokenUsed,
		},
		"a token for many others": {
			change: func(in *Input) { in.Token.Cluster, in.Token.MaxUses = "shop-*", 2 },
			want:   Deny, wantReason: contract.ReasonTokenOfAnotherCluster,
		},
		"a token for this member only": {
			change: func(in *Input) { in.Token.Member = memberID },
			want:   Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"a token for another member only": {
			change: func(in *Input) { in.Token.Member = otherID },
			want:   Deny, wantReason: contract.ReasonTokenOfAnotherMember,
		},
		"a hub on which operators accept": {
			change: func(in *Input) { in.Manual = true },
			want:   Wait, wantReason: contract.ReasonAwaitingApproval,
		},
		"a token whose joins operators accept": {
			change: func(in *Input) { in.Token.Manual = true },
			want:   Wait, wantReason: contract.ReasonAwaitingApproval,
		},
		"a join that an operator accepted": {
			change: func(in *Input) {
				in.Token.Manual, in.Token.Accepted = true, []bootstrap.Acceptance{{Request: in.UID, By: "ann"}}
			},
			want: Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"a join when an operator accepted another": {
			change: func(in *Input) {
				in.Token.Manual, in.Token.Accepted = true, []bootstrap.Acceptance{{Request: "csr-0", By: "ann"}}
			},
			want: Wait, wantReason: contract.ReasonAwaitingApproval,
		},
		"a join that nobody need be asked to refuse": {
			change: func(in *Input) { in.Manual, in.Cluster = true, &Cluster{ID: otherID} },
			want:   Deny, wantReason: contract.ReasonNameTaken,
		},
		"another signer": {
			change: func(in *Input) { in.Request.signer = certificatesv1.KubeletServingSignerName },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a name that is kept for another member": {
			change: func(in *Input) { in.ReservedFor = otherID },
			want:   Deny, wantReason: contract.ReasonNameReserved,
		},
		"a name that is kept for this member": {
			change: func(in *Input) { in.ReservedFor, in.Token.Member = memberID, memberID },
			want:   Approve, wantReason: contract.ReasonJoinApproved, wantJoin: true,
		},
		"an agent that was forgotten asks again": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				in.ReservedFor, in.Cluster = memberID, &Cluster{ID: memberID, Leaving: true}
			},
			want: Deny, wantReason: contract.ReasonNameReserved,
		},
		"an agent that was forgotten asks again when its Cluster is gone": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				in.ReservedFor, in.Cluster = memberID, nil
			},
			want: Deny, wantReason: contract.ReasonNameReserved,
		},
		"an agent asks that somebody began to forget": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				in.ReservedFor, in.Cluster = memberID, &Cluster{ID: memberID}
			},
			want: Approve, wantReason: contract.ReasonRenewalApproved,
		},
		"a member without an id": {
			change: func(in *Input) { in.MemberID = "" },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a member with an id that none has": {
			change: func(in *Input) { in.MemberID = "not an id at all" },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a member with an endless id": {
			change: func(in *Input) { in.MemberID = strings.Repeat("a", 129) },
			want:   Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"a name that another member has": {
			change: func(in *Input) { in.Cluster = &Cluster{ID: otherID} },
			want:   Deny, wantReason: contract.ReasonNameTaken,
		},
		"a name that is being given up": {
			change: func(in *Input) { in.Cluster = &Cluster{ID: memberID, Leaving: true} },
			want:   Deny, wantReason: contract.ReasonClusterLeaving,
		},
		"a member that has another name": {
			change: func(in *Input) { in.Others = []string{"shop-9", "shop-7"} },
			want:   Deny, wantReason: contract.ReasonMemberAlreadyJoined,
		},
		"an agent asks again": {
			change: func(in *Input) { asAgent(in, "edge-1"); in.Cluster = &Cluster{ID: memberID} },
			want:   Approve, wantReason: contract.ReasonRenewalApproved,
		},
		"an agent asks again with the certificate that it was given last": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				joinedAs(in, in.Request.Join)
				in.Cluster.Fingerprint, in.Request.Credential = "f00d", "f00d"
			},
			want: Approve, wantReason: contract.ReasonRenewalApproved,
		},
		"an agent asks again with a certificate that was renewed already": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				joinedAs(in, in.Request.Join)
				in.Cluster.Fingerprint, in.Request.Credential = "f00d", "beef"
			},
			want: Deny, wantReason: contract.ReasonNotTheLastCertificate,
		},
		"an agent asks again of an API that does not tell which certificate it has": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				joinedAs(in, in.Request.Join)
				in.Cluster.Fingerprint = "f00d"
			},
			want: Approve, wantReason: contract.ReasonRenewalApproved,
		},
		"an agent of a former join asks again": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				joinedAs(in, in.Request.Join)
				in.Cluster.Join = strings.Repeat("b", 32)
			},
			want: Deny, wantReason: contract.ReasonFormerJoin,
		},
		"an agent of no join asks again of a Cluster that has one": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				in.Cluster = &Cluster{ID: memberID, Join: strings.Repeat("b", 32)}
			},
			want: Deny, wantReason: contract.ReasonFormerJoin,
		},
		"an agent asks again for another join": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				joinedAs(in, strings.Repeat("c", 32))
			},
			want: Deny, wantReason: contract.ReasonMalformedRequest,
		},
		"an agent asks again without saying its id": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				in.MemberID, in.Cluster = "", &Cluster{ID: memberID}
			},
			want: Approve, wantReason: contract.ReasonRenewalApproved,
		},
		"an agent asks again when its Cluster is gone": {
			change: func(in *Input) { asAgent(in, "edge-1") },
			want:   Deny, wantReason: contract.ReasonClusterUnknown,
		},
		"an agent asks again when another member has its name": {
			change: func(in *Input) { asAgent(in, "edge-1"); in.Cluster = &Cluster{ID: otherID} },
			want:   Deny, wantReason: contract.ReasonNameTaken,
		},
		"an agent asks for the certificate of another": {
			change: func(in *Input) { asAgent(in, "edge-2"); in.Cluster = &Cluster{ID: memberID} },
			want:   Deny, wantReason: contract.ReasonNotAToken,
		},
		"somebody has the name of an agent without its group": {
			change: func(in *Input) {
				asAgent(in, "edge-1")
				in.Request.Groups, in.Cluster = []string{"system:authenticated"}, &Cluster{ID: memberID}
			},
			want: Deny, wantReason: contract.ReasonNotAToken,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := valid(t)
			if tc.request != nil {
				in.Request = read(t, tc.request)
			}
			if tc.change != nil {
				tc.change(&in)
			}
			got := Decide(in)
			g.Expect(got.Verdict).To(Equal(tc.want), got.Message)
			g.Expect(got.Reason).To(Equal(tc.wantReason), got.Message)
			g.Expect(got.Join).To(Equal(tc.wantJoin))
			g.Expect(got.Message).To(HaveSuffix("."))
			g.Expect(got.Message).NotTo(ContainSubstring("%!"))
		})
	}
}

func TestDecideNamesTheSameOtherClusterEveryTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := valid(t)
	in.Others = []string{"shop-9", "shop-7"}
	g.Expect(Decide(in).Message).To(ContainSubstring("shop-7"))
}

func TestDecideRefusesARequestThatIsNotSignedWithItsKey(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := valid(t)
	in.Request.parsed.Signature[len(in.Request.parsed.Signature)-1] ^= 1
	g.Expect(Decide(in).Reason).To(Equal(contract.ReasonMalformedRequest))
}

// joinedAs has the agent that asks be of a join, and the Cluster be of the same.
func joinedAs(in *Input, join string) {
	in.Request.Groups = append(in.Request.Groups, contract.JoinGroup(join))
	in.Cluster = &Cluster{ID: memberID, Join: join}
}

func TestAClusterOfNoJoinGetsThatOfItsAgentWhenItHasTheCertificate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := valid(t)
	asAgent(&in, "edge-1")
	in.Cluster = &Cluster{ID: memberID}
	g.Expect(Decide(in).Adopt).To(BeEmpty(), "its agent has to fetch the certificate with the rights that it has")
	in.Request.Groups = append(in.Request.Groups, contract.JoinGroup(in.Request.Join))
	g.Expect(Decide(in).Adopt).To(Equal(in.Request.Join))
	in.Cluster.Join = in.Request.Join
	g.Expect(Decide(in).Adopt).To(BeEmpty(), "it has it")
}

func asAgent(in *Input, cluster string) {
	in.Request.User, in.Request.Groups = contract.AgentUser(cluster), []string{contract.AgentGroup, "system:authenticated"}
	in.Token = nil
}

func TestAQuestionIsAnsweredAndNothingIsIssued(t *testing.T) {
	t.Parallel()
	token := func(manual bool) *bootstrap.Token {
		return &bootstrap.Token{ID: "abc123", Cluster: "edge-1", MaxUses: 1, Expires: now().Add(time.Hour), Manual: manual}
	}
	tests := map[string]struct {
		in   Input
		want string
		says string
	}{
		"it could join":                     {in: Input{Token: token(false)}, want: contract.ReasonJoinPossible, says: "can join as cluster edge-1."},
		"a person would be asked":           {in: Input{Token: token(false), Cluster: &Cluster{ID: memberID}}, want: contract.ReasonJoinPossible, says: "once an operator of the hub accepts it"},
		"it could once somebody accepts it": {in: Input{Token: token(true)}, want: contract.ReasonJoinPossible, says: "once an operator of the hub accepts it"},
		"the name is taken":                 {in: Input{Token: token(false), Cluster: &Cluster{ID: otherID}}, want: contract.ReasonNameTaken, says: "taken"},
		"the token is unknown":              {want: contract.ReasonTokenUnknown, says: "abc123"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := tc.in
			in.Now, in.Request, in.UID, in.MemberID, in.AskOnly = now(), read(t, nil), "u", memberID, true
			got := Decide(in)
			g.Expect(got.Verdict).To(Equal(Deny))
			g.Expect(got.Join).To(BeFalse(), "the token is not used up")
			g.Expect(got.Reason).To(Equal(tc.want))
			g.Expect(got.Message).To(ContainSubstring(tc.says))
		})
	}
}
