package hostile

import (
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// A token lets one member join, once, and then nobody do anything.
func TestAJoinTokenOpensNothingElse(t *testing.T) {
	w := hub(t)
	token := w.token(t, "opens", nil)
	holder := newIntruder(t, w.bearer(token.String()))
	const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	allowed := allowedEverywhere()
	for resource := range allowed {
		delete(allowed, resource)
	}
	allowed["certificates.k8s.io/certificatesigningrequests"] = "create get"
	for _, self := range []string{"authentication.k8s.io/selfsubjectreviews", "authorization.k8s.io/selfsubjectaccessreviews", "authorization.k8s.io/selfsubjectrulesreviews"} {
		allowed[self] = "create"
	}
	t.Run("every verb on every resource in every place", func(t *testing.T) {
		holder.tryAll(t, w.api.Config, "", []string{"karmada-es-edge-1", "karmada-cluster", "kube-system", ""}, nil, allowed)
	})
	large := func(metadata, spec string) row {
		return row{method: http.MethodPost, path: csrs, body: requestBody(t, metadata, spec)}
	}
	long := string(make([]byte, 0)) + repeat("x", 5000)
	holder.refusedAll(t, map[string]row{
		"a megabyte around the request":   large(`{"name":"junk-1"}`, `"request":"`+asJSON(t, append(requestFor(t, "system:karmada:agent:opens", contract.AgentGroup), long...))+`"`),
		"an endless annotation":           large(`{"name":"junk-2","annotations":{"fairlead.dev/member-id":"`+long+`"}}`, ""),
		"an endless annotation of others": large(`{"name":"junk-3","annotations":{"a":"`+long+`"}}`, ""),
		"an endless name":                 large(`{"name":"`+repeat("j", 200)+`"}`, ""),
		"the hub's own mark":              large(`{"name":"junk-4","annotations":{"fairlead.dev/accepted":"me"}}`, ""),
		"an owner":                        large(`{"name":"junk-5","ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"x"}]}`, ""),
		"a finalizer":                     large(`{"name":"junk-6","finalizers":["a.b/c"]}`, ""),
		"another signer":                  large(`{"name":"junk-7"}`, `"signerName":"kubernetes.io/kubelet-serving"`),
	})
	t.Run("endless managed fields", func(t *testing.T) {
		owned := large(`{"name":"junk-8",`+fieldsOwned("certificates.k8s.io/v1", 100_000)+`}`, "")
		holder.refused(t, owned.method, owned.path, owned.body, nil, http.StatusRequestEntityTooLarge)
	})
	t.Run("it joins once", func(t *testing.T) {
		_, err := w.tryJoin(t, token, "opens", "member-of-opens", waitTimeout)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	})
	t.Run("a used token asks for nothing", func(t *testing.T) {
		eventually(t, func(g Gomega) {
			g.Expect(holder.do(t, http.MethodPost, csrs, requestBody(t, `{"name":"opens-again"}`, ""), nil)).To(Equal(http.StatusForbidden))
		})
		delete(allowed, "certificates.k8s.io/certificatesigningrequests")
		allowed["certificates.k8s.io/certificatesigningrequests"] = "get"
		holder.tryAll(t, w.api.Config, "", []string{"karmada-es-opens", "kube-system"}, nil, allowed)
	})
	t.Run("a pattern admits nobody to a name that has joined", func(t *testing.T) {
		g := NewWithT(t)
		pattern := w.token(t, "edge-*", func(token *bootstrap.Token) { token.MaxUses = 5 })
		thief := newIntruder(t, w.bearer(pattern.String())).client(t)
		csr := joinRequest(t, "edge-1", "member-of-edge-1")
		before := w.cluster(t, "edge-1").Annotations[contract.JoinedAnnotation]
		g.Expect(thief.Create(t.Context(), csr)).To(Succeed())
		eventually(t, func(g Gomega) {
			g.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(csr), csr)).To(Succeed())
			g.Expect(csr.Annotations).To(HaveKeyWithValue(contract.PendingAnnotation, ContainSubstring("hub clusters approve edge-1")))
		})
		g.Expect(csr.Status.Conditions).To(BeEmpty())
		g.Expect(w.cluster(t, "edge-1").Annotations[contract.JoinedAnnotation]).To(Equal(before))
		newIntruder(t, w.agent(t, "edge-1")).allowedAll(t, map[string]row{"the honest agent works": {method: http.MethodGet, path: worksOf("edge-1")}})
	})
	t.Run("an unused token asks so often only", func(t *testing.T) {
		unused := w.token(t, "floods", nil)
		flooder := newIntruder(t, w.bearer(unused.String()))
		made := 0
		eventually(t, func(g Gomega) {
			for range 50 {
				code := flooder.do(t, http.MethodPost, csrs, requestBody(t, `{"generateName":"flood-"}`, ""), nil)
				if made++; code == http.StatusUnauthorized {
					return
				}
			}
			g.Expect(made).To(BeZero(), "the token is still good")
		})
		eventually(t, func(g Gomega) {
			var all certificatesv1.CertificateSigningRequestList
			g.Expect(w.List(t.Context(), &all)).To(Succeed())
			all.Items = slices.DeleteFunc(all.Items, func(csr certificatesv1.CertificateSigningRequest) bool {
				return csr.Spec.Username != contract.BootstrapUserPrefix+unused.ID
			})
			g.Expect(len(all.Items)).To(BeNumerically("<=", 25), "of %d that were made", made)
		})
		secret := &corev1.Secret{}
		NewWithT(t).Expect(w.Get(t.Context(), client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(unused.ID)}, secret)).To(Succeed())
		NewWithT(t).Expect(secret.Annotations).To(HaveKey(contract.TokenClosedAnnotation))
		t.Logf("a token made %d requests until it was closed", made)
	})
	NewWithT(t).Expect(w.List(t.Context(), &corev1.SecretList{})).To(Succeed())
	t.Logf("the holder of a join token made %d attempts; every one was refused", holder.attempts)
}
