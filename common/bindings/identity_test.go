package bindings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

func TestABindingIsNamedAfterItsTemplate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		binding          workv1alpha2.Binding
		template         metav1.ObjectMeta
		kind             schema.GroupVersionKind
		label, finalizer string
	}{
		"in a namespace": {
			&workv1alpha2.ResourceBinding{},
			metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: "7"},
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			contract.ResourceBindingPermanentIDLabel, contract.BindingFinalizer,
		},
		"in none": {
			&workv1alpha2.ClusterResourceBinding{},
			metav1.ObjectMeta{Name: "web", UID: "u1", ResourceVersion: "7"},
			schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
			contract.ClusterResourceBindingPermanentIDLabel, contract.ClusterBindingFinalizer,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := tc.binding
			b.SetFinalizers(append(make([]string, 0, 2), "other/finalizer"))
			b.SetLabels(map[string]string{"app": "web"})
			readFinalizers, readLabels := b.GetFinalizers(), b.GetLabels()

			for _, id := range []string{"first", "second"} { // the second changes nothing
				bindings.NameAfter(b, tc.kind, &tc.template)
				bindings.OwnedBy(b, tc.kind, &tc.template)
				bindings.Identify(b, id)
			}
			g.Expect(b.GetName()).To(Equal(contract.BindingName(tc.kind.Kind, "web")))
			g.Expect(b.GetNamespace()).To(Equal(tc.template.Namespace))
			g.Expect(b.GetFinalizers()).To(Equal([]string{"other/finalizer", tc.finalizer}))
			g.Expect(b.GetLabels()).To(Equal(map[string]string{"app": "web", tc.label: "first"}))
			g.Expect(b.GetOwnerReferences()).To(HaveLen(1))
			g.Expect(metav1.IsControlledBy(b, &tc.template)).To(BeTrue())
			g.Expect(bindings.ReferTo(tc.kind, &tc.template)).To(Equal(workv1alpha2.ObjectReference{
				APIVersion: tc.kind.GroupVersion().String(), Kind: tc.kind.Kind, Namespace: tc.template.Namespace, Name: "web", UID: "u1", ResourceVersion: "7",
			}))

			g.Expect(readFinalizers[:2]).To(Equal([]string{"other/finalizer", ""}), "what was read is not changed")
			g.Expect(readLabels).To(HaveLen(1), "what was read is not changed")
		})
	}
}
