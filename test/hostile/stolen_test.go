package hostile

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/test/stagetest"
)

// Whoever copied an agent's credentials keeps nothing of them, however the join ended.
func TestAStolenCertificateEndsWithItsJoin(t *testing.T) {
	w := hub(t)
	ends := map[string]func(t *testing.T, name string){
		"forgotten": func(t *testing.T, name string) {
			t.Helper()
			NewWithT(t).Expect(registration.Forget(t.Context(), w.Client, w.Client, w.cluster(t, name), "ann", w.now())).To(Succeed())
		},
		"deleted": func(t *testing.T, name string) {
			t.Helper()
			NewWithT(t).Expect(w.Delete(t.Context(), w.cluster(t, name))).To(Succeed())
		},
		"rejoined": func(*testing.T, string) {}, // the honest member rejoins, and nothing else happens
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			stolen := newIntruder(t, w.join(t, name, "member-of-"+name))
			streams := stolen.watchAll(t, name)

			end(t, name)
			if name != "rejoined" {
				eventually(t, func(g Gomega) {
					g.Expect(apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{}))).To(BeTrue())
				})
				streams.ended(t)
				_, err := w.tryJoin(t, w.token(t, name, func(token *bootstrap.Token) { token.Member = "member-of-another" }), name, "member-of-another", waitTimeout)
				g.Expect(err).To(MatchError(ContainSubstring("is kept for a member that was forgotten")))
			}
			honest := newIntruder(t, w.join(t, name, "member-of-"+name))
			streams.ended(t)

			honest.allowedAll(t, map[string]row{"the honest member works": {method: http.MethodGet, path: worksOf(name)}})
			stolen.refusedAll(t, map[string]row{
				"it lists Works":          {method: http.MethodGet, path: worksOf(name)},
				"it watches Works":        {method: http.MethodGet, path: worksOf(name) + "?watch=true"},
				"it reads its Cluster":    {method: http.MethodGet, path: "/apis/cluster.karmada.io/v1alpha1/clusters/" + name},
				"it says how its is":      {method: http.MethodPatch, path: "/apis/cluster.karmada.io/v1alpha1/clusters/" + name + "/status", body: `{"status":{}}`},
				"it reads a lease":        {method: http.MethodGet, path: "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/" + name},
				"it renews a lease":       {method: http.MethodPatch, path: "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/" + name, body: `{"spec":{"renewTime":null}}`},
				"it asks to renew itself": {method: http.MethodPost, path: "/apis/certificates.k8s.io/v1/certificatesigningrequests", body: `{}`},
				"it fetches a renewal":    {method: http.MethodGet, path: "/apis/certificates.k8s.io/v1/certificatesigningrequests/" + name + ".renewal"},
				"it reads what kinds mean": {
					method: http.MethodGet, path: "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations",
				},
			})
			self := map[string]string{
				"authentication.k8s.io/selfsubjectreviews":      "create",
				"authorization.k8s.io/selfsubjectaccessreviews": "create", "authorization.k8s.io/selfsubjectrulesreviews": "create",
			}
			stolen.tryAll(t, w.api.Config, "", []string{"karmada-es-" + name, "karmada-cluster"}, nil, self)
		})
	}
}

// Of two who have the same certificate the hub renews the one that comes first, refuses the other
// and says so.
func TestOnlyTheLastCertificateIsRenewed(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	const name = "renews"
	first := w.join(t, name, "member-of-"+name)
	second, denied := w.renew(t, first)
	g.Expect(denied).To(BeNil())
	newIntruder(t, second).allowedAll(t, map[string]row{"the new certificate works": {method: http.MethodGet, path: worksOf(name)}})

	_, denied = w.renew(t, first)
	g.Expect(denied).NotTo(BeNil())
	g.Expect(denied.Reason).To(Equal(contract.ReasonNotTheLastCertificate))
	third, denied := w.renew(t, second)
	g.Expect(denied).To(BeNil())

	// A hub restored from a backup knows an earlier certificate as the last.
	cluster := w.cluster(t, name)
	earlier, err := record.Of(first.CertData)
	g.Expect(err).NotTo(HaveOccurred())
	earlier.From = earlier.From.Add(-time.Hour)
	value, err := record.Write(earlier)
	g.Expect(err).NotTo(HaveOccurred())
	stagetest.Change(t, w.Client, cluster, func() { cluster.Annotations[contract.CertificateAnnotation] = value })
	third, denied = w.renew(t, third)
	g.Expect(denied).To(BeNil(), "it is later than what the hub knows")
	cert, err := x509.ParseCertificate(decode(t, third.CertData))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cert.NotAfter.Sub(cert.NotBefore).Hours()).To(BeNumerically("<=", 31*24), "it lasts a month")
	g.Expect(contract.JoinOf(cert.Subject.Organization)).To(Equal(record.JoinOf(w.cluster(t, name).Annotations)))
}

// renew requests another certificate as an agent does, and returns it, or the error.
func (w *world) renew(t *testing.T, agent *rest.Config) (*rest.Config, *certificatesv1.CertificateSigningRequestCondition) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	held, err := x509.ParseCertificate(decode(t, agent.CertData))
	g.Expect(err).NotTo(HaveOccurred())
	cluster, ok := contract.AgentCluster(held.Subject.CommonName)
	g.Expect(ok).To(BeTrue())
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: held.Subject.CommonName, Organization: held.Subject.Organization},
	}, key)
	g.Expect(err).NotTo(HaveOccurred())
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: contract.RenewalRequest(cluster), Annotations: map[string]string{
			contract.PresentedCertificateAnnotation: string(agent.CertData),
		}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			ExpirationSeconds: new(int32(contract.CertificateLifetimeSeconds)),
		},
	}
	as := newIntruder(t, agent).client(t)
	g.Expect(client.IgnoreNotFound(as.Delete(t.Context(), csr.DeepCopy()))).To(Succeed())
	g.Expect(as.Create(t.Context(), csr)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(as.Get(t.Context(), client.ObjectKeyFromObject(csr), csr)).To(Succeed())
		g.Expect(csr.Status.Conditions).NotTo(BeEmpty())
		g.Expect(csr.Status.Conditions[0].Type == certificatesv1.CertificateDenied || len(csr.Status.Certificate) > 0).To(BeTrue())
	})
	if csr.Status.Conditions[0].Type == certificatesv1.CertificateDenied {
		return nil, &csr.Status.Conditions[0]
	}
	eventually(t, func(g Gomega) {
		last := record.Read[record.Certificate](w.cluster(t, cluster).Annotations, contract.CertificateAnnotation)
		g.Expect(last.Fingerprint).To(Equal(contract.Fingerprint(decode(t, csr.Status.Certificate))))
	})
	raw, err := x509.MarshalECPrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	out := rest.CopyConfig(agent)
	out.CertData, out.KeyData = csr.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
	return out, nil
}

func decode(t *testing.T, raw []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(raw)
	if block == nil {
		t.Fatalf("%q is no PEM", raw)
	}
	return block.Bytes
}

// streams are open watches.
type streams map[string]chan struct{}

// watchAll opens every watch that an agent may open, each for a day.
func (i *intruder) watchAll(t *testing.T, cluster string) streams {
	t.Helper()
	out := streams{}
	for what, path := range map[string]string{
		"its Works":       worksOf(cluster),
		"its Cluster":     "/apis/cluster.karmada.io/v1alpha1/clusters?fieldSelector=metadata.name%3D" + cluster,
		"its lease":       "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases?fieldSelector=metadata.name%3D" + cluster,
		"what kinds mean": "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations",
	} {
		sign := "?"
		if what == "its Cluster" || what == "its lease" {
			sign = "&"
		}
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.config.Host+path+sign+"watch=true&timeoutSeconds=86400", http.NoBody)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		response, err := i.http.Do(request) //nolint:bodyclose // the goroutine below closes it
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(response.StatusCode).To(Equal(http.StatusOK), what)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = response.Body.Close() }()
			for lines := bufio.NewReader(response.Body); ; {
				if _, err := lines.ReadBytes('\n'); err != nil {
					return
				}
			}
		}()
		out[what] = ended
	}
	return out
}

// ended checks that the API closed each of the watches.
func (s streams) ended(t *testing.T) {
	t.Helper()
	for what, ended := range s {
		NewWithT(t).Eventually(ended).WithTimeout(waitTimeout).Should(BeClosed(), "the watch of "+what)
	}
}
