package approve

import (
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

// somebody is a requester who is not an agent and has no token.
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
