package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// tryToBeSomebodyElse tries to impersonate others.
func (i *intruder) tryToBeSomebodyElse(t *testing.T) {
	t.Helper()
	for _, who := range []map[string]string{
		{"Impersonate-User": "system:admin"},
		{"Impersonate-User": "system:karmada:agent:edge-2"},
		{"Impersonate-User": "system:karmada:agent:edge-1", "Impersonate-Group": "system:masters"},
		{"Impersonate-User": "system:serviceaccount:kube-system:default"},
		{"Impersonate-User": "system:karmada:agent:edge-1", "Impersonate-Extra-Scopes": "all"},
		{"Impersonate-User": "system:karmada:agent:edge-1", "Impersonate-Uid": "0"},
	} {
		for _, path := range []string{"/api/v1/secrets", "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-edge-1/works"} {
			i.refused(t, http.MethodGet, path, "", who)
		}
	}
}

// tryCertificates requests certificates that the agent must not get, under the name that it may use. The hub denies
// each of them.
func (i *intruder) tryCertificates(t *testing.T, w *world) {
	t.Helper()
	g := NewWithT(t)
	large := requestBody(t, `{"name":"edge-1.renewal",`+fieldsOwned("certificates.k8s.io/v1", 100_000)+`}`, "")
	i.refused(t, http.MethodPost, "/apis/certificates.k8s.io/v1/certificatesigningrequests", large, nil, http.StatusRequestEntityTooLarge)
	clientAuth := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	for name, attempt := range map[string]struct {
		request []byte
		usages  []certificatesv1.KeyUsage
	}{
		"the agent of another":      {requestFor(t, "system:karmada:agent:edge-2", contract.AgentGroup), clientAuth},
		"an administrator":          {requestFor(t, "admin", "system:masters"), clientAuth},
		"an agent and more":         {requestFor(t, "system:karmada:agent:edge-1", contract.AgentGroup, "system:masters"), clientAuth},
		"a node":                    {requestFor(t, "system:node:n1", "system:nodes"), clientAuth},
		"a server":                  {requestFor(t, "system:karmada:agent:edge-1", contract.AgentGroup), append(clientAuth, certificatesv1.UsageServerAuth)},
		"an authority":              {requestFor(t, "system:karmada:agent:edge-1", contract.AgentGroup), append(clientAuth, certificatesv1.UsageCertSign)},
		"an agent of no name":       {requestFor(t, "system:karmada:agent:", contract.AgentGroup), clientAuth},
		"an agent of a nicked name": {requestFor(t, "system:karmada:agent:edge-1 ", contract.AgentGroup), clientAuth},
	} {
		csr := &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: contract.RenewalRequest("edge-1")},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: attempt.request, SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: attempt.usages,
			},
		}
		i.attempts++
		if err := i.client(t).Create(t.Context(), csr); err != nil {
			continue // refused by the API before the hub saw it
		}
		g.Eventually(func(g Gomega) {
			g.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(csr), csr)).To(Succeed())
			g.Expect(csr.Status.Conditions).To(ConsistOf(HaveField("Type", certificatesv1.CertificateDenied)), name)
		}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
		g.Expect(csr.Status.Certificate).To(BeEmpty(), name)
		g.Expect(w.Delete(t.Context(), csr)).To(Succeed())
	}
}

// requestFor returns a certificate request in PEM.
func requestFor(t *testing.T, name string, organizations ...string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: name, Organization: organizations},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
