package dependencies

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
)

// TestNamespaceIsReadOnlyBeforeDetaching counts the live reads of the namespace.
func TestNamespaceIsReadOnlyBeforeDetaching(t *testing.T) {
	t.Parallel()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "vault", Name: "settings-configmap"}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "vault", Name: "settings"}
	for name, tc := range map[string]struct {
		kind, name string
		want       int
	}{
		"an attached object":                     {kind: "ConfigMap", name: "settings", want: 1},
		"an attached object, perhaps, by labels": {kind: "ConfigMap", want: 1},
		"another object":                         {kind: "ConfigMap", name: "more"},
		"an object of another kind":              {kind: "Secret", name: "settings"},
		"another kind, by labels":                {kind: "Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			reads := 0
			live := fake.NewClientBuilder().WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vault"}}).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, obj, opts...)
				},
			}).Build()
			r := &Reconciler{liveReader: live}
			withheld := configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: tc.kind, Namespace: "vault", Name: tc.name}
			ends, err := r.ending(t.Context(), []configv1alpha1.DependentObjectReference{withheld, withheld}, []kube.Binding{b})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ends).To(BeEmpty())
			g.Expect(reads).To(Equal(tc.want))
		})
	}
}
