package detector

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

func TestKindInstalledLaterIsPropagated(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	kind := "Gadget" + strings.ReplaceAll(s.namespace, "-", "")
	s.create(t, s.policy("gadgets", named("example.com/v1", kind, "")))
	g.Eventually(func() []string { return s.writes.notes(reasonKindNotServed) }, "1m", "50ms").Should(HaveLen(1))

	crd := builder.MakeDefinition("example.com", "v1", kind)
	s.create(t, crd)
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": kind,
		"metadata": map[string]any{"name": "g", "namespace": s.namespace},
	}}
	g.Eventually(func() error { return client.IgnoreAlreadyExists(s.client.Create(t.Context(), gadget.DeepCopy())) },
		"1m", "50ms").Should(Succeed())
	s.eventually(t, contract.BindingName(kind, "g"), claimedBy("gadgets"))
	g.Expect(s.writes.notes(reasonKindNotServed)).To(HaveLen(1), "the event is emitted once")
}

func TestMisspeltKindIsNotPropagated(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	s.create(t, s.policy("web", named("apps/v1", "deployment", "web")), s.deployment("web", 2))
	g.Eventually(func() []string { return s.writes.notes(reasonKindNotServed) }, "1m", "50ms").
		Should(ConsistOf("The hub has no kind deployment of apps/v1, but Deployment. Correct it in resourceSelectors."))
	s.settle(t)
	_, err := s.binding(t.Context(), "web-deployment")
	g.Expect(err).To(HaveOccurred(), "a misspelt kind gets no binding")
}

// TestManyUnknownKindsCostFewRequests checks that policies which name thousands of unknown kinds delay nothing else.
func TestManyUnknownKindsCostFewRequests(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	const policies, kinds = 5, 1000
	group := "." + s.namespace + ".example.com"
	s.create(t, s.configMap("a"))
	for i := range policies {
		p := s.policy(fmt.Sprintf("unknown-%d", i))
		for j := range kinds {
			p.Spec.ResourceSelectors = append(p.Spec.ResourceSelectors, named(fmt.Sprintf("g%d-%d%s/v1", i, j, group), "Unknown", ""))
		}
		s.create(t, p)
	}
	more := s.policy("more")
	for i := range kinds + 1 {
		more.Spec.ResourceSelectors = append(more.Spec.ResourceSelectors, named("v1", "ConfigMap", fmt.Sprint(i)))
	}
	g.Expect(apierrors.IsInvalid(s.client.Create(t.Context(), more))).To(BeTrue(), "the API rejects a policy with more selectors")

	s.create(t, s.policy("web", named("v1", "ConfigMap", "a")))
	s.eventually(t, "a-configmap", claimedBy("web"))
	g.Eventually(func() int { return len(s.writes.notes(reasonKindNotServed)) }, "1m", "50ms").Should(Equal(policies*kinds), "each unknown kind is reported")
	g.Expect(s.writes.read(func(path string) bool { return strings.Contains(path, group) })).To(BeZero())
	g.Expect(s.writes.read(func(path string) bool { return path == "/apis" })).To(BeNumerically("<", 100), "the hub reads discovery at most once a second")
}

func TestKindIsWatchedOnlyWhileNeeded(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	s.settle(t)
	g.Expect(s.writes.watched("/networkpolicies")).To(BeZero())
	p := s.policy("nets", named("networking.k8s.io/v1", "NetworkPolicy", ""))
	net := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
		"metadata": map[string]any{"name": "net", "namespace": s.namespace},
		"spec":     map[string]any{"podSelector": map[string]any{}},
	}}
	s.create(t, p, net)
	s.eventually(t, "net-networkpolicy", claimedBy("nets"))
	g.Expect(s.writes.watched("/networkpolicies")).To(BeNumerically(">=", 1), "the kind is watched, perhaps more than once")

	g.Expect(s.client.Delete(t.Context(), p)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	}, "1m", "50ms").Should(BeTrue())
	s.settle(t)

	// The watch starts again with the next policy, so it had ended.
	before := s.writes.watched("/networkpolicies")
	s.create(t, s.policy("nets-2", named("networking.k8s.io/v1", "NetworkPolicy", "")))
	s.eventually(t, "net-networkpolicy", claimedBy("nets-2"))
	g.Eventually(func() int { return s.writes.watched("/networkpolicies") }, "1m", "50ms").Should(BeNumerically(">", before))
}
