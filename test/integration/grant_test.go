package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/test/builder"
)

// TestNobodyHasTheSecretOfAnotherNamespaceSent has a tenant name the Secret of another one in a Gateway, whose rules know it as
// something that the Gateway needs: it goes where the Gateway goes only while its owner grants that.
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
