package registration

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	mathrand "math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/approve"
)

// TestAnExecutionNamespaceWakesTheRequestsOfItsCluster creates, decides and deletes requests in random order: at every
// moment the namespace of a cluster enqueues exactly those requests that a full scan finds.
func TestAnExecutionNamespaceWakesTheRequestsOfItsCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	asks := func(commonName string) []byte {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: commonName, Organization: []string{contract.AgentGroup}},
		}, key)
		g.Expect(err).NotTo(HaveOccurred())
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	clusters := []string{"edge-1", "edge-2", "edge-3"}
	specs := [][]byte{asks("somebody"), []byte("nonsense"), asks(contract.AgentUserPrefix)}
	for _, name := range clusters {
		specs = append(specs, asks(contract.AgentUserPrefix+name))
	}
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&certificatesv1.CertificateSigningRequest{}, pendingByCluster, pendingFor).Build()
	r := &Reconciler{hubClient: hub, rights: &Rights{prefix: contract.DefaultExecutionNamespacePrefix}}
	random, woken := mathrand.New(mathrand.NewPCG(16, 2)), 0
	for range 300 {
		csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("csr-", random.IntN(10))}}
		g.Expect(client.IgnoreNotFound(hub.Delete(t.Context(), csr))).To(Succeed())
		if random.IntN(4) > 0 {
			csr.Spec.Request = specs[random.IntN(len(specs))]
			switch random.IntN(4) {
			case 0:
				csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue}}
			case 1:
				csr.Status.Certificate = []byte("one")
			}
			g.Expect(hub.Create(t.Context(), csr)).To(Succeed())
		}
		var all certificatesv1.CertificateSigningRequestList
		g.Expect(hub.List(t.Context(), &all)).To(Succeed())
		for _, cluster := range clusters {
			var want []ctrl.Request
			for i := range all.Items {
				if request, ours := approve.Read(all.Items[i].Spec); pending(&all.Items[i]) && ours && request.Cluster == cluster {
					want = append(want, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
				}
			}
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster)}}
			g.Expect(r.requestsOfNamespace(t.Context(), namespace)).To(ConsistOf(want))
			woken += len(want)
		}
		g.Expect(r.requestsOfNamespace(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})).To(BeEmpty())
	}
	g.Expect(woken).To(BeNumerically(">", 100))
}
