package dependencies_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestDeletedNamespaceDoesNotRevokeGrant deletes a ReferenceGrant with its namespace, before the object that it is for.
func TestDeletedNamespaceDoesNotRevokeGrant(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	shared := w.configMap("shared")
	shared.Namespace, shared.Labels = w.other, map[string]string{"shared": "yes"}
	w.create(t, shared)
	definition := builder.MakeDefinition("gateway.networking.k8s.io", "v1beta1", "ReferenceGrant")
	w.create(t, definition)
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), definition) })
	granted := builder.MakeGrant(w.other, "configmaps", "apps", "Deployment", w.namespace, "ConfigMap").Obj()
	g.Eventually(func() error { return w.hub.Create(t.Context(), granted) }, stagetest.Timeout, stagetest.Poll).Should(Succeed(), "once the kind is served")
	for _, name := range []string{"web", "api"} {
		u, b := w.deployment(t, name)
		u.SetAnnotations(map[string]string{"class": w.namespace})
		g.Expect(w.hub.Update(t.Context(), u)).To(Succeed())
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = u.GetResourceVersion() })
	}
	elsewhere, both := w.attached(t, w.other, "shared-configmap"), And(HaveKey("web-deployment"), HaveKey("api-deployment"))
	g.Eventually(elsewhere, stagetest.Timeout, stagetest.Poll).Should(both)

	proceed := stagetest.Terminate(t, w.hub, shared, &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.other, Name: "shared-configmap"}})
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(granted), granted) }, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound))
	g.Eventually(func() []string { return w.notes("DependencyNotGranted") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(
		ContainSubstring("is being deleted, and no ReferenceGrant is left there")))
	g.Consistently(elsewhere, stagetest.Quiet, stagetest.Poll).Should(both)
	proceed()
	g.Eventually(elsewhere, stagetest.Timeout, stagetest.Poll).Should(BeNil(), "the binding is deleted once the object is gone")
}

// TestADefinitionThatIsDeletedTakesNoGrantBack has all ReferenceGrants go with their definition, as where somebody uninstalls the Gateway API.
func TestADefinitionThatIsDeletedTakesNoGrantBack(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	shared := w.configMap("shared")
	shared.Namespace, shared.Labels = w.other, map[string]string{"shared": "yes"}
	w.create(t, shared)
	definition := builder.MakeDefinition("gateway.networking.k8s.io", "v1beta1", "ReferenceGrant")
	definition.Finalizers = []string{"test.fairlead.dev/held"}
	g.Eventually(func() error { return w.hub.Create(t.Context(), definition) }, stagetest.Timeout, stagetest.Poll).Should(Succeed(), "once that of another test is gone")
	release := func(ctx context.Context) error {
		return client.IgnoreNotFound(w.hub.Patch(ctx, definition, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, _ = w.hub.Delete(ctx, definition), release(ctx)
	})
	granted := builder.MakeGrant(w.other, "configmaps", "apps", "Deployment", w.namespace, "ConfigMap").Obj()
	g.Eventually(func() error { return w.hub.Create(t.Context(), granted) }, stagetest.Timeout, stagetest.Poll).Should(Succeed(), "once the kind is served")
	u, b := w.deployment(t, "web")
	u.SetAnnotations(map[string]string{"class": w.namespace})
	g.Expect(w.hub.Update(t.Context(), u)).To(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = u.GetResourceVersion() })
	elsewhere := w.attached(t, w.other, "shared-configmap")
	g.Eventually(elsewhere, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))

	g.Expect(w.hub.Delete(t.Context(), definition)).To(Succeed())
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(granted), granted) }, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound))
	g.Eventually(func() []string { return w.notes("DependencyNotGranted") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(
		ContainSubstring("ConfigMap " + w.other)))
	g.Consistently(elsewhere, stagetest.Quiet, stagetest.Poll).Should(HaveKey("web-deployment"), "while the definition is being deleted")
	g.Expect(release(t.Context())).To(Succeed())
	g.Eventually(func() error {
		return w.hub.Get(t.Context(), client.ObjectKeyFromObject(definition), definition)
	}, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound))
	g.Consistently(elsewhere, stagetest.Quiet, stagetest.Poll).Should(HaveKey("web-deployment"), "once it is gone")
}
