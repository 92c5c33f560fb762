package dashboard_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/test/showcase"
)

// theRequestThatWasLookedAtIsAccepted has somebody else request the name of a member, claiming its id, while a person
// looks at the member's request.
func theRequestThatWasLookedAtIsAccepted(t *testing.T, known func(*testing.T, string) *visitor, show *showcase.Showcase, admin string) {
	t.Helper()
	g := NewWithT(t)
	v := known(t, admin)
	ask := func(name string) (token string, csr *certificatesv1.CertificateSigningRequest) {
		made, err := bootstrap.New(rand.Reader, "oslo", time.Now().Add(time.Hour))
		g.Expect(err).NotTo(HaveOccurred())
		made.Manual = true
		g.Expect(operate.Issue(t.Context(), show.Client, made)).To(Succeed())
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		g.Expect(err).NotTo(HaveOccurred())
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
			CommonName: contract.AgentUser("oslo"), Organization: []string{contract.AgentGroup},
		}}, key)
		g.Expect(err).NotTo(HaveOccurred())
		as := rest.CopyConfig(show.Hub.Config)
		as.Impersonate = rest.ImpersonationConfig{UserName: contract.BootstrapUserPrefix + made.ID, Groups: []string{contract.BootstrapGroup, "system:masters"}}
		holder, err := client.New(as, client.Options{Scheme: show.Client.Scheme()})
		g.Expect(err).NotTo(HaveOccurred())
		csr = &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			ExpirationSeconds: new(int32(contract.CertificateLifetimeSeconds)),
		}}
		csr.Name, csr.Annotations = name, map[string]string{contract.MemberIDAnnotation: "member-of-oslo"}
		g.Expect(holder.Create(t.Context(), csr)).To(Succeed())
		csr.Annotations[contract.PendingAnnotation] = "The token says that a person is to accept it."
		g.Expect(show.Client.Update(t.Context(), csr)).To(Succeed())
		t.Cleanup(func() {
			g.Expect(client.IgnoreNotFound(show.Client.Delete(context.WithoutCancel(t.Context()), csr))).To(Succeed())
		})
		return made.ID, csr
	}
	accepted := func(id string, csr *certificatesv1.CertificateSigningRequest) bool {
		secret := &corev1.Secret{}
		g.Expect(show.Client.Get(t.Context(), client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(id)}, secret)).To(Succeed())
		token, err := bootstrap.FromSecret(secret)
		g.Expect(err).NotTo(HaveOccurred())
		return token.AcceptedFor(string(csr.UID)) != nil
	}

	token, csr := ask("oslo-of-the-member")
	_, text := v.get("/join")
	found := regexp.MustCompile(`/join/oslo/approve\?request=[^"]+`).FindString(text)
	g.Expect(found).NotTo(BeEmpty(), text)
	_, text = v.get(found)
	g.Expect(text).To(And(ContainSubstring("Request: oslo-of-the-member, made with token "+token), ContainSubstring("member-of-oslo")))
	shown := regexp.MustCompile(`name="request" value="([^"]+)"`).FindStringSubmatch(text)
	g.Expect(shown).To(HaveLen(2), text)

	another, later := ask("oslo-of-somebody")
	code, text := v.get("/join/oslo/approve")
	g.Expect(code).To(Equal(http.StatusBadRequest))
	g.Expect(text).To(And(ContainSubstring("oslo-of-the-member"), ContainSubstring("oslo-of-somebody")))
	said, text := v.request(http.MethodPost, "/join/oslo/approve", url.Values{"csrf": {v.csrf()}, "request": {shown[1]}})
	g.Expect(said.StatusCode).To(Equal(http.StatusSeeOther), text)
	g.Expect(accepted(token, csr)).To(BeTrue())
	g.Expect(accepted(another, later)).To(BeFalse())
}
