package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"fairlead.dev/common/contract"
)

func (w *world) now() time.Time { return time.Now() }

// bearer reaches the hub with only a token.
func (w *world) bearer(token string) *rest.Config {
	out := rest.AnonymousClientConfig(w.api.Config)
	out.BearerToken = token
	return out
}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// requestBody returns a certificate request as JSON, with the fields of spec.
func requestBody(t *testing.T, metadata, spec string) string {
	t.Helper()
	for field, value := range map[string]string{
		"request":    asJSON(t, requestFor(t, "system:karmada:agent:opens", contract.AgentGroup)),
		"signerName": certificatesv1.KubeAPIServerClientSignerName,
	} {
		if !strings.Contains(spec, `"`+field+`"`) {
			spec += `,"` + field + `":"` + value + `"`
		}
	}
	return `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":` + metadata +
		`,"spec":{"usages":["client auth","digital signature"],"expirationSeconds":2592000,` + strings.TrimPrefix(spec, ",") + `}}`
}

// joinRequest returns a member's join request, as sent by `agent join`.
func joinRequest(t *testing.T, cluster, member string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	g.Expect(err).NotTo(HaveOccurred())
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
		CommonName: contract.AgentUser(cluster), Organization: []string{contract.AgentGroup, contract.JoinGroup(contract.JoinID(public))},
	}}, key)
	g.Expect(err).NotTo(HaveOccurred())
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: cluster + "-", Annotations: map[string]string{contract.MemberIDAnnotation: member}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			ExpirationSeconds: new(int32(contract.CertificateLifetimeSeconds)),
		},
	}
}

// Whoever is not known reads where the hub is, and nothing else.
func TestNobodyIsRefused(t *testing.T) {
	w := hub(t)
	anonymous := newIntruder(t, rest.AnonymousClientConfig(w.api.Config))
	for name, nobody := range map[string]*intruder{
		"without credentials":     anonymous,
		"with a token of nothing": newIntruder(t, w.bearer("abcdef.0123456789abcdef")),
		"with a made-up token":    newIntruder(t, w.bearer("eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ.")),
	} {
		t.Run(name, func(t *testing.T) {
			nobody.tryAll(t, w.api.Config, "", []string{"karmada-es-edge-1", "karmada-cluster", "kube-system", "kube-public", ""}, nil, nil)
			nobody.refusedAll(t, map[string]row{
				"it reads the metrics":         {method: http.MethodGet, path: "/metrics"},
				"it lists what is served":      {method: http.MethodGet, path: "/apis"},
				"it looks into the program":    {method: http.MethodGet, path: "/debug/pprof/"},
				"it reads the logs":            {method: http.MethodGet, path: "/logs/"},
				"it reads what the hub serves": {method: http.MethodGet, path: "/openapi/v3"},
			})
			t.Logf("%s: %d attempts; every one was refused", name, nobody.attempts)
		})
	}
	anonymous.allowedAll(t, map[string]row{
		"it reads where the hub is":          {method: http.MethodGet, path: "/api/v1/namespaces/kube-public/configmaps/cluster-info"},
		"it asks whether the API is there":   {method: http.MethodGet, path: "/readyz"},
		"it asks for the version of the API": {method: http.MethodGet, path: "/version"},
	})
}

// tenant returns a user with all rights in a namespace.
func (w *world) tenant(t *testing.T, ns string) *intruder {
	t.Helper()
	g := NewWithT(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tenant"}}
	g.Expect(w.Create(t.Context(), account)).To(Succeed())
	g.Expect(w.Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tenant"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	})).To(Succeed())
	g.Expect(w.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tenant"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "tenant"}},
	})).To(Succeed())
	token := &authenticationv1.TokenRequest{}
	g.Expect(w.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	out := newIntruder(t, w.bearer(token.Status.Token))
	eventually(t, func(g Gomega) {
		g.Expect(out.do(t, http.MethodGet, "/apis/policy.karmada.io/v1alpha1/namespaces/"+ns+"/propagationpolicies", "", nil)).To(Equal(http.StatusOK))
	})
	return out
}

// A tenant has every right in one namespace, and no effect outside of it.
func TestATenantStaysInItsNamespace(t *testing.T) {
	w := hub(t)
	ns := w.api.Namespace(t)
	other := w.api.Namespace(t)
	tenant := w.tenant(t, ns)
	policies := "/apis/policy.karmada.io/v1alpha1/namespaces/" + ns
	self := map[string]string{
		"authentication.k8s.io/selfsubjectreviews":      "create",
		"authorization.k8s.io/selfsubjectaccessreviews": "create", "authorization.k8s.io/selfsubjectrulesreviews": "create",
	}
	t.Run("every verb on every resource in other places", func(t *testing.T) {
		tenant.tryAll(t, w.api.Config, "", []string{other, "karmada-es-edge-1", "karmada-cluster", "kube-system", "kube-public", "default", ""}, nil, self)
	})
	policy := func(kind, spec string) string {
		return `{"apiVersion":"policy.karmada.io/v1alpha1","kind":"` + kind + `","metadata":{"generateName":"p-"},"spec":` + spec + `}`
	}
	propagates := func(spec string) row {
		return row{method: http.MethodPost, path: policies + "/propagationpolicies?dryRun=All", body: policy("PropagationPolicy", spec)}
	}
	overrides := func(spec string) row {
		return row{method: http.MethodPost, path: policies + "/overridepolicies?dryRun=All", body: policy("OverridePolicy", spec)}
	}
	states := func(path string) string {
		return `{"resourceSelectors":[{"apiVersion":"v1","kind":"ConfigMap"}],"failover":{"cluster":{"statePreservation":{"rules":[{"aliasLabelName":"a","jsonPath":"` + path + `"}]}}}}`
	}
	for why, r := range map[string]row{
		"it propagates from another namespace": propagates(`{"resourceSelectors":[{"apiVersion":"v1","kind":"Secret","namespace":"kube-system"}]}`),
		"it propagates of another tenant":      propagates(`{"resourceSelectors":[{"apiVersion":"v1","kind":"Secret","namespace":"` + other + `","name":"s"}]}`),
		"it has the hub find what doubles":     propagates(states("{" + repeat("['.','.']", 28) + "}")),
		"it has the hub look for all there is": propagates(states("{..}")),
		"it overrides of another tenant":       overrides(`{"resourceSelectors":[{"apiVersion":"v1","kind":"Secret","namespace":"` + other + `"}],"overrideRules":[{"overriders":{}}]}`),
	} {
		t.Run(why, func(t *testing.T) {
			tenant.attempts++
			NewWithT(t).Expect(tenant.do(t, r.method, r.path, r.body, r.header())).To(BeNumerically(">=", http.StatusBadRequest))
		})
	}
	tenant.allowedAll(t, map[string]row{
		"it makes a template": {method: http.MethodPost, path: "/api/v1/namespaces/" + ns + "/configmaps", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"}}`},
		"it propagates it":    propagates(`{"resourceSelectors":[{"apiVersion":"v1","kind":"ConfigMap","name":"settings"}]}`),
		"it keeps its state":  propagates(states("{ .jobStatus.jobID }")),
		"it overrides it":     overrides(`{"resourceSelectors":[{"apiVersion":"v1","kind":"ConfigMap","name":"settings"}],"overrideRules":[{"overriders":{"plaintext":[{"path":"/data","operator":"add","value":{"a":"b"}}]}}]}`),
	})
	t.Logf("a tenant made %d attempts outside of its namespace; every one was refused", tenant.attempts)
}
