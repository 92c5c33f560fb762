package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// TestNobodyHasTheSecretOfAnotherNamespaceSent names another tenant's Secret in a Gateway, whose interpreter reports it
// as a dependency: it is propagated with the Gateway only while its owner grants that.
func TestNobodyHasTheSecretOfAnotherNamespaceSent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	const group = "gateway.networking.k8s.io"
	s.create(t, builder.MakeDefinition(group, "v1", "Gateway"), builder.MakeDefinition(group, "v1beta1", "ReferenceGrant"))
	g.Expect(s.member("edge-1").Client(t).Create(t.Context(), builder.MakeDefinition(group, "v1", "Gateway"))).To(Succeed())
	ns, vault := s.namespace(t), s.namespace(t)
	secret := func(namespace, name string) *unstructured.Unstructured {
		return builder.MakeTemplate("v1", "Secret", namespace, name).Set(map[string]any{"tls.key": "aGlkZGVu"}, "data").Obj()
	}
	own, others := secret(ns, "own"), secret(vault, "theirs")
	front := builder.MakeTemplate(group+"/v1", "Gateway", ns, "front").Set([]any{map[string]any{
		"name": "https", "tls": map[string]any{"certificateRefs": []any{
			map[string]any{"name": "own"}, map[string]any{"name": "theirs", "namespace": vault},
		}},
	}}, "spec", "listeners").Obj()
	s.create(t, own, others, builder.MakePolicy(ns, "front").Select(group+"/v1", "Gateway", "front").Clusters("edge-1").WithDependencies().Obj())
	eventually(t, func(g Gomega) { g.Expect(s.hub.Client(t).Create(t.Context(), front)).To(Succeed()) }) // once the kind is served

	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", own)
		g.Expect(s.warnings(t, g, ns, front)).To(ContainElement(And(
			ContainSubstring("Secret "+vault+"/theirs is in another namespace"), ContainSubstring("a ReferenceGrant"))))
	})
	g.Expect(apierrors.IsNotFound(s.get(t, s.member("edge-1"), others))).To(BeTrue())

	granted := builder.MakeGrant(vault, "gateways", group, "Gateway", ns, "Secret").Obj()
	eventually(t, func(g Gomega) { g.Expect(s.hub.Client(t).Create(t.Context(), granted)).To(Succeed()) })
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-1", others) })

	g.Expect(s.hub.Client(t).Delete(t.Context(), granted)).To(Succeed())
	eventually(t, func(g Gomega) { g.Expect(apierrors.IsNotFound(s.get(t, s.member("edge-1"), others))).To(BeTrue()) })
	s.inMember(t, g, "edge-1", own)
}

// TestNobodyTakesOverWhatIsInNoNamespaceByNeedingIt has a tenant's Certificate depend on a cluster-scoped issuer that
// exists on the hub, and that somebody else created in the member, with conflict resolution Overwrite.
func TestNobodyTakesOverWhatIsInNoNamespaceByNeedingIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	const group = "cert-manager.io"
	member := s.member("edge-1").Client(t)
	for _, c := range []client.Client{s.hub.Client(t), member} {
		issuers := builder.MakeDefinition(group, "v1", "ClusterIssuer")
		issuers.Spec.Scope = apiextensionsv1.ClusterScoped
		g.Expect(c.Create(t.Context(), issuers)).To(Succeed())
		g.Expect(c.Create(t.Context(), builder.MakeDefinition(group, "v1", "Certificate"))).To(Succeed())
	}
	issuer := func(server string) *unstructured.Unstructured {
		return builder.MakeTemplate(group+"/v1", "ClusterIssuer", "", "letsencrypt").Set(server, "spec", "acme", "server").Obj()
	}
	theirs, ours := issuer("https://member.example"), issuer("https://hub.example")
	eventually(t, func(g Gomega) { g.Expect(member.Create(t.Context(), theirs)).To(Succeed()) }) // once the kind is served
	eventually(t, func(g Gomega) { g.Expect(s.hub.Client(t).Create(t.Context(), ours)).To(Succeed()) })
	ns := s.namespace(t)
	certificate := builder.MakeTemplate(group+"/v1", "Certificate", ns, "front").
		Set(map[string]any{"kind": "ClusterIssuer", "name": "letsencrypt"}, "spec", "issuerRef").Obj()
	s.create(t, builder.MakePolicy(ns, "front").Select(group+"/v1", "Certificate", "front").Clusters("edge-1").WithDependencies().Overwrite().Obj())
	eventually(t, func(g Gomega) { g.Expect(s.hub.Client(t).Create(t.Context(), certificate)).To(Succeed()) })

	untouched := func(g Gomega) {
		live := s.inMember(t, g, "edge-1", theirs)
		g.Expect(live.GetUID()).To(Equal(theirs.GetUID()))
		g.Expect(live.GetLabels()).NotTo(HaveKey(contract.ManagedLabel))
		server, _, _ := unstructured.NestedString(live.Object, "spec", "acme", "server")
		g.Expect(server).To(Equal("https://member.example"))
	}
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", certificate)
		applied := meta.FindStatusCondition(s.work(t, g, "edge-1", ours).Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(applied).NotTo(BeNil())
		g.Expect(applied.Status).To(BeEquivalentTo("False"), "it exists and is not ours")
	})
	untouched(g)

	g.Expect(s.hub.Client(t).Delete(t.Context(), certificate)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(s.get(t, s.member("edge-1"), certificate)).To(Satisfy(apierrors.IsNotFound))
		work := &workv1alpha1.Work{}
		key := client.ObjectKey{
			Namespace: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, "edge-1"),
			Name:      contract.WorkName(ours.GetKind(), "", ours.GetName()),
		}
		g.Expect(s.hub.Client(t).Get(t.Context(), key, work)).To(Satisfy(apierrors.IsNotFound))
	})
	untouched(g)
}
