package dependencies_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestDependencyNamedInTwoVersionsIsStable has one workload that names an object in one version, one in another, and one in both.
func TestDependencyNamedInTwoVersionsIsStable(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	group := w.namespace + ".example.com"
	v1, beta := group+"/v1", group+"/v1beta1"
	definition := builder.MakeDefinition(group, "v1", "Database")
	older := *definition.Spec.Versions[0].DeepCopy()
	older.Name, older.Storage = "v1beta1", false
	definition.Spec.Versions = append(definition.Spec.Versions, older)
	w.create(t, definition)
	orders := builder.MakeTemplate(beta, "Database", w.namespace, "orders").Set(int64(1), "spec", "size").Obj()
	g.Eventually(func() error {
		return w.hub.Create(t.Context(), orders)
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed(), "once the API server serves the kind")
	g.Eventually(func() error {
		return w.hub.Get(t.Context(), client.ObjectKeyFromObject(orders), builder.MakeTemplate(v1, "Database", w.namespace, "orders").Obj())
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())

	naming := func(name string, versions ...string) (others func(versions ...string)) {
		workload, b := w.deployment(t, name)
		others = func(versions ...string) {
			change(t, w, workload, func(u *unstructured.Unstructured) {
				u.SetAnnotations(map[string]string{"databases": strings.Join(versions, ",")})
			})
			change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = workload.GetResourceVersion() })
		}
		others(versions...)
		g.Eventually(w.attached(t, w.namespace, "orders-database"), stagetest.Timeout, stagetest.Poll).Should(HaveKey(name + "-deployment"))
		return others
	}
	quiet := func() {
		var now string
		g.Eventually(func() bool {
			last := now
			now = w.versions(t)
			return last == now
		}, stagetest.Timeout, "50ms").Should(BeTrue())
		g.Consistently(func() string { return w.versions(t) }, stagetest.Quiet, stagetest.Poll).Should(Equal(now))
	}
	follows := func(version string) func(Gomega) {
		return func(g Gomega) {
			b := w.attachedBinding(t, "orders-database")
			g.Expect(b.Spec.Resource.APIVersion).To(Equal(version))
			g.Expect(metav1.GetControllerOf(b).APIVersion).To(Equal(v1), "the owner has the version that the API prefers")
			g.Expect(b.Spec.Resource.ResourceVersion).To(Equal(orders.GetResourceVersion()))
		}
	}
	old := naming("old", v1)
	g.Eventually(follows(v1), stagetest.Timeout, stagetest.Poll).Should(Succeed())
	old(beta)
	g.Eventually(follows(beta), stagetest.Timeout, stagetest.Poll).Should(Succeed(), "the binding changes to the version that is still named")
	naming("both", v1, beta)
	naming("new", v1)
	quiet()
	follows(beta)(g) // it was attached first

	change(t, w, orders, func(u *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(u.Object, int64(2), "spec", "size")).To(Succeed())
	})
	g.Eventually(follows(beta), stagetest.Timeout, stagetest.Poll).Should(Succeed(), "edits are propagated")
	quiet()

	// Once that version is not served any more, the binding changes to the other one.
	change(t, w, definition, func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[1].Served = false })
	orders.SetAPIVersion(v1)
	g.Eventually(func() string {
		change(t, w, orders, func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"edited": u.GetResourceVersion()}) })
		return w.attachedBinding(t, "orders-database").Spec.Resource.APIVersion
	}, stagetest.Timeout, stagetest.Poll).Should(Equal(v1))
	g.Eventually(follows(v1), stagetest.Timeout, stagetest.Poll).Should(Succeed())
	quiet()
}
