package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestAKindThatComesBackInAnotherPlaceIsUsedThere deletes a CustomResourceDefinition and recreates it under another
// plural or scope, as when an operator is replaced by a later version.
func TestAKindThatComesBackInAnotherPlaceIsUsedThere(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		group, plural string
		scope         apiextensionsv1.ResourceScope
	}{
		"under another plural": {group: "plural.example.com", plural: "meters", scope: apiextensionsv1.NamespaceScoped},
		"with another scope":   {group: "scope.example.com", plural: "gauges", scope: apiextensionsv1.ClusterScoped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), newJoined(t, "kind-changed-"+tc.plural)
			definition := func(plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
				out := gauges()
				out.Name, out.Spec.Group, out.Spec.Names.Plural, out.Spec.Scope = plural+"."+tc.group, tc.group, plural, scope
				return out
			}
			gauge := func(scope apiextensionsv1.ResourceScope) *unstructured.Unstructured {
				out := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": tc.group + "/v1", "kind": "Gauge", "metadata": map[string]any{"name": "pressure"},
				}}
				if scope == apiextensionsv1.NamespaceScoped {
					out.SetNamespace(w.member)
				}
				return out
			}
			there := func(of *unstructured.Unstructured) error { // clients keep where they found a kind
				c, err := client.New(w.config, client.Options{})
				g.Expect(err).NotTo(HaveOccurred())
				return c.Get(t.Context(), client.ObjectKeyFromObject(of), of.DeepCopy())
			}
			before := definition("gauges", apiextensionsv1.NamespaceScoped)
			g.Expect(w.client.Create(t.Context(), before)).To(Succeed())
			w.run(t, func(*setup.Options) {})
			w.place(t)
			work := w.work(t, "gauge", gauge(apiextensionsv1.NamespaceScoped))
			w.isWell(t, work)

			g.Expect(w.client.Delete(t.Context(), before)).To(Succeed())
			g.Eventually(func() error {
				return w.client.Get(t.Context(), client.ObjectKeyFromObject(before), &apiextensionsv1.CustomResourceDefinition{})
			}).WithTimeout(waitTimeout).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
			after := definition(tc.plural, tc.scope)
			g.Expect(w.client.Create(t.Context(), after)).To(Succeed())
			if tc.scope == apiextensionsv1.ClusterScoped {
				was := work.DeepCopy()
				text, err := gauge(tc.scope).MarshalJSON()
				g.Expect(err).NotTo(HaveOccurred())
				work.Spec.Workload.Manifests[0].Raw = text
				g.Expect(w.client.Patch(t.Context(), work, client.MergeFrom(was))).To(Succeed())
			}
			g.Eventually(func() error { return there(gauge(tc.scope)) }).WithTimeout(2 * waitTimeout).Should(Succeed())
			w.isWell(t, work)

			w.end(t, work)
			g.Eventually(func() error {
				return w.client.Get(t.Context(), client.ObjectKeyFromObject(work), &workv1alpha1.Work{})
			}).WithTimeout(waitTimeout).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
			g.Eventually(func() error { return there(gauge(tc.scope)) }).WithTimeout(waitTimeout).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		})
	}
}
