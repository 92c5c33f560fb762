package dependencies_test

import (
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestDependencyDeletedFirstFollowsPolicyOfWorkload deletes a dependency, and then the workload, after an edit of its policy
// that neither binding has. The Works of the dependency are deleted when the workload is gone.
func TestDependencyDeletedFirstFollowsPolicyOfWorkload(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	for name, preserve := range map[string]bool{"kept": true, "lost": false} {
		own, policy := w.configMap(name), builder.MakePolicy(w.namespace, name).Select("apps/v1", "Deployment", name).Clusters("edge-1").Obj()
		w.create(t, own)
		_, b := w.deployment(t, name, name)
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Labels[contract.PropagationPolicyPermanentIDLabel] = "policy-1"
			b.Annotations = map[string]string{
				contract.PropagationPolicyNamespaceAnnotation: w.namespace, contract.PropagationPolicyNameAnnotation: name,
			}
		})
		attached := name + "-configmap"
		g.Eventually(w.attached(t, w.namespace, attached), stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
		needed := w.attachedBinding(t, attached)
		change(t, w, needed, func(b *workv1alpha2.ResourceBinding) { b.Finalizers = append(b.Finalizers, "test.fairlead.dev/read") })
		g.Expect(w.hub.Delete(t.Context(), needed)).To(Succeed())
		policy.Labels, policy.Spec.PreserveResourcesOnDeletion = map[string]string{contract.PropagationPolicyPermanentIDLabel: "policy-1"}, &preserve
		w.create(t, policy)
		g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
		g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b) }, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound))
		goes := w.attachedBinding(t, attached)
		g.Expect(ptr.Deref(goes.Spec.PreserveResourcesOnDeletion, false)).To(Equal(preserve), name)
		g.Expect(bindings.Preserved(&goes.Spec, "edge-1")).To(Equal(preserve), name)
		change(t, w, goes, func(b *workv1alpha2.ResourceBinding) { b.Finalizers = nil })
	}
}
