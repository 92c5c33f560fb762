package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// What an agent may do is listed here once more, by somebody who does not know how it is
// given: design section 6. {resource, subresource included: verbs}, by place.
func allowedInOwnNamespace() map[string]string {
	return map[string]string{
		"work.karmada.io/works": "get list watch patch update", "work.karmada.io/works/status": "get patch update",
		"/events": "create patch update", "events.k8s.io/events": "create patch update",
	}
}

func allowedEverywhere() map[string]string {
	return map[string]string{
		"config.karmada.io/resourceinterpretercustomizations":        "get list watch",
		"config.karmada.io/resourceinterpreterwebhookconfigurations": "get list watch",
		// To make its own request, under its own name: an admission policy holds that.
		"certificates.k8s.io/certificatesigningrequests": "create",
		// Whoever is authenticated may ask who it is and what it may do.
		"authentication.k8s.io/selfsubjectreviews":      "create",
		"authorization.k8s.io/selfsubjectaccessreviews": "create", "authorization.k8s.io/selfsubjectrulesreviews": "create",
	}
}

// TestAHostileAgentIsRefused has somebody who stole the certificate of the agent of edge-1
// try whatever the hub's API has.
func TestAHostileAgentIsRefused(t *testing.T) {
	f := up(t)
	g := NewWithT(t)
	apply(t, f, configMaps("hostile", 1, 1))
	var work string
	eventually(t, func(g Gomega) {
		work = kubectl(t, g, f, fleet.HubName, "get", "works", "-n", "karmada-es-edge-1", "-o", "jsonpath={.items[0].metadata.name}")
	})
	before := kubectl(t, g, f, fleet.HubName, "get", "clusters", "-o", "jsonpath={range .items[*]}{.metadata.labels}{.spec.taints}{.spec.id}{end}")

	stolen, err := clientcmd.BuildConfigFromFlags("", filepath.Join(f.Dir, fleet.AgentName("edge-1"), "hub.kubeconfig"))
	g.Expect(err).NotTo(HaveOccurred())
	hostile := newIntruder(t, stolen)

	t.Run("every verb on every resource in every place", func(t *testing.T) {
		hostile.tryAll(t, "edge-1", allowedInOwnNamespace(), allowedEverywhere())
	})
	t.Run("what RBAC cannot hold", func(t *testing.T) {
		hostile.tryWhatPoliciesHold(t, work)
	})
	t.Run("to be somebody else", func(t *testing.T) {
		hostile.tryToBeSomebodyElse(t)
	})
	t.Run("certificates of others", func(t *testing.T) {
		hostile.tryCertificates(t, f)
	})
	t.Run("paths that are no resources", func(t *testing.T) {
		for _, path := range []string{"/metrics", "/metrics/slis", "/logs/", "/debug/pprof/", "/debug/flags/v", "/configz", "/statusz", "/flagz"} {
			hostile.refused(t, http.MethodGet, path, "", nil)
		}
	})
	t.Run("its certificate after it was forgotten", func(t *testing.T) {
		tryAfterForget(t, f, hostile)
	})

	after := kubectl(t, g, f, fleet.HubName, "get", "clusters", "-o", "jsonpath={range .items[*]}{.metadata.labels}{.spec.taints}{.spec.id}{end}")
	g.Expect(after).To(Equal(before))
	t.Logf("a hostile agent made %d attempts; every one was refused", hostile.attempts)
}

// tryWhatPoliciesHold tries what the agent's rights allow in part.
func (i *intruder) tryWhatPoliciesHold(t *testing.T, work string) {
	t.Helper()
	const merge = "application/merge-patch+json"
	works := "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-edge-1/works"
	own := "/apis/cluster.karmada.io/v1alpha1/clusters/edge-1"
	lease := "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/"
	csrs := "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	for _, attempt := range []struct{ path, body string }{
		{works + "/" + work, `{"spec":{"workload":{"manifests":[]}}}`},
		{works + "/" + work, `{"spec":{"suspendDispatching":true}}`},
		{works + "/" + work, `{"spec":{"preserveResourcesOnDeletion":true}}`},
		{works + "/" + work, `{"metadata":{"labels":{"a":"b"}}}`},
		{works + "/" + work, `{"metadata":{"annotations":{"a":"b"}}}`},
		{works + "/" + work, `{"metadata":{"finalizers":["a.b/c"]}}`},
		{works + "/" + work, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"x"}]}}`},
		{own, `{"metadata":{"labels":{"tier":"gold"}}}`},
		{own, `{"metadata":{"annotations":{"fairlead.dev/execution-namespace":"karmada-es-edge-2"}}}`},
		{own, `{"metadata":{"finalizers":null}}`},
		{own, `{"spec":{"taints":[]}}`},
		{own, `{"spec":{"region":"elsewhere"}}`},
		{own, `{"spec":{"id":"another"}}`},
		{lease + "edge-1", `{"metadata":{"finalizers":["a.b/c"]}}`},
		{lease + "edge-1", `{"metadata":{"labels":{"a":"b"}}}`},
		{lease + "edge-1", `{"metadata":{"annotations":{"a":"b"}}}`},
		{lease + "edge-1", `{"metadata":{"ownerReferences":null}}`},
		{lease + "edge-1", `{"metadata":{"annotations":{"fairlead.dev/agent-version":"` + strings.Repeat("v", 65) + `"}}}`},
		{lease + "edge-2", `{"spec":{"renewTime":"2026-05-01T12:00:00.000000Z"}}`},
		{"/apis/cluster.karmada.io/v1alpha1/clusters/edge-2/status", `{"status":{"conditions":[]}}`},
	} {
		i.refused(t, http.MethodPatch, attempt.path, attempt.body, map[string]string{"Content-Type": merge})
	}
	for _, path := range []string{
		"/apis/cluster.karmada.io/v1alpha1/clusters",
		"/apis/cluster.karmada.io/v1alpha1/clusters?fieldSelector=metadata.name%3Dedge-2",
		"/apis/cluster.karmada.io/v1alpha1/clusters?watch=true&fieldSelector=metadata.name%3Dedge-2",
		"/apis/cluster.karmada.io/v1alpha1/watch/clusters/edge-2",
		"/apis/work.karmada.io/v1alpha1/works?fieldSelector=metadata.namespace%3Dkarmada-es-edge-1",
		"/api/v1/namespaces/kube-public/configmaps/cluster-info",
	} {
		i.refused(t, http.MethodGet, path, "", nil)
	}
	// Only under the one name that it may read, and with nothing of the hub's on it.
	for _, metadata := range []string{
		`{"name":"edge-2.renewal"}`, `{"name":"edge-1"}`, `{"generateName":"edge-1"}`,
		`{"name":"edge-1.renewal","annotations":{"fairlead.dev/accepted":"me"}}`,
		`{"name":"edge-1.renewal","finalizers":["a.b/c"]}`,
	} {
		i.refused(t, http.MethodPost, csrs, fmt.Sprintf(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":%s,
			"spec":{"request":%q,"signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"]}}`, metadata, asJSON(t, requestFor(t, "system:karmada:agent:edge-1", contract.AgentGroup))), nil)
	}
	for _, signer := range []string{"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet", "example.com/mine"} {
		i.refused(t, http.MethodPost, csrs, fmt.Sprintf(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"edge-1.renewal"},
			"spec":{"request":%q,"signerName":%q,"usages":["client auth"]}}`, asJSON(t, requestFor(t, "system:karmada:agent:edge-1", contract.AgentGroup)), signer), nil)
	}
}

// tryToBeSomebodyElse asks in the name of others.
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

// tryCertificates asks, under the name that it may use, for certificates that it must not
// have. The hub denies each of them.
func (i *intruder) tryCertificates(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	g := NewWithT(t)
	admin, err := f.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
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
			continue // refused before the hub saw it
		}
		g.Eventually(func(g Gomega) {
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(csr), csr)).To(Succeed())
			g.Expect(csr.Status.Conditions).To(ConsistOf(HaveField("Type", certificatesv1.CertificateDenied)), name)
		}).WithTimeout(patience).WithPolling(poll).Should(Succeed())
		g.Expect(csr.Status.Certificate).To(BeEmpty(), name)
		g.Expect(admin.Delete(t.Context(), csr)).To(Succeed())
	}
}

// tryAfterForget joins a cluster of its own, and tries everything that its agent may do
// after the cluster was forgotten.
func tryAfterForget(t *testing.T, f *fleet.Fleet, counted *intruder) {
	t.Helper()
	g := NewWithT(t)
	member := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"member-of-stolen"}}`))
	}))
	t.Cleanup(member.Close)
	words, err := f.CreateToken(t.Context(), "stolen")
	g.Expect(err).NotTo(HaveOccurred())
	config, err := registration.Join(t.Context(), registration.Options{
		Flags:    discovery.Flags{Hub: words[0], Token: words[2], CACertHashes: []string{words[4]}, Cluster: "stolen"},
		StateDir: filepath.Join(t.TempDir(), "state"), Member: &rest.Config{Host: member.URL}, Deadline: patience,
	})
	g.Expect(err).NotTo(HaveOccurred())
	stolen := newIntruder(t, config)
	works := "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-stolen/works"
	eventually(t, func(g Gomega) { g.Expect(stolen.do(t, http.MethodGet, works, "", nil)).To(Equal(http.StatusOK)) })

	_, err = f.Run(t.Context(), "hub", "forget", "stolen", "--kubeconfig", f.Kubeconfig(fleet.HubName))
	g.Expect(err).NotTo(HaveOccurred())
	stolen.refused(t, http.MethodGet, works, "", nil)
	self := map[string]string{}
	for resource, verbs := range allowedEverywhere() {
		if strings.HasPrefix(resource, "auth") {
			self[resource] = verbs
		}
	}
	stolen.tryAll(t, "stolen", nil, self)
	for _, path := range []string{
		"/apis/cluster.karmada.io/v1alpha1/clusters/stolen",
		"/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/stolen",
		"/apis/certificates.k8s.io/v1/certificatesigningrequests/stolen.renewal",
	} {
		stolen.refused(t, http.MethodGet, path, "", nil)
	}
	counted.attempts += stolen.attempts
	told := &corev1.ConfigMap{}
	g.Expect(stolen.client(t).Get(t.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName("stolen")}, told)).
		To(Succeed(), "it is told that it was retired")
	_, err = f.Run(t.Context(), "hub", "forget", "stolen", "--release", "--force", "--kubeconfig", f.Kubeconfig(fleet.HubName))
	g.Expect(err).NotTo(HaveOccurred())
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

// asJSON returns bytes as JSON has them.
func asJSON(t *testing.T, raw []byte) string {
	t.Helper()
	out, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(out), `"`)
}

// oneAttempt bounds a request; a watch that is not refused ends with it.
const oneAttempt = 10 * time.Second
