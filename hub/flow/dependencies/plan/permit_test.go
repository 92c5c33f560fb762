package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func TestPermit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := web()
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	ref := func(namespace, name string) configv1alpha1.DependentObjectReference {
		return configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name}
	}
	own, class, granted, other, secret := ref("shop", "own"), ref("", "class"), ref("infra", "granted"), ref("infra", "other"), ref("vault", "secret")
	refs := []configv1alpha1.DependentObjectReference{own, class, granted, other, secret}
	g.Expect(GrantsWanted(b, refs)).To(Equal([]configv1alpha1.DependentObjectReference{
		{APIVersion: "gateway.networking.k8s.io/v1beta1", Kind: "ReferenceGrant", Namespace: "infra", LabelSelector: &metav1.LabelSelector{}},
		{APIVersion: "gateway.networking.k8s.io/v1beta1", Kind: "ReferenceGrant", Namespace: "vault", LabelSelector: &metav1.LabelSelector{}},
	}), "the grants of each namespace are listed once")
	grant := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "infra", "name": "shop"},
		"spec": map[string]any{
			"from": []any{map[string]any{"group": "apps", "kind": "Deployment", "namespace": "shop"}},
			"to":   []any{map[string]any{"group": "", "kind": "ConfigMap", "name": "granted"}},
		},
	}}
	all := func(refs ...configv1alpha1.DependentObjectReference) []configv1alpha1.DependentObjectReference {
		return refs
	}
	g.Expect(Permit(b, refs, []*unstructured.Unstructured{grant})).To(Equal(Permission{Granted: all(own, class, granted), Withheld: all(other, secret)}))
	g.Expect(Permit(staged(b), refs, []*unstructured.Unstructured{grant})).To(Equal(Permission{
		Granted: all(own, class), Withheld: all(other, secret), Stays: all(granted),
	}), "a staged workload gets no new object of another namespace")

	before := Permit(b, refs, nil)
	g.Expect(before.KeepIn(nil)).To(Equal(before))
	g.Expect(before.KeepIn(sets.New("infra"))).To(Equal(Permission{
		Granted: all(own, class), Withheld: all(secret), Ending: all(granted, other),
	}), "withheld references to an ending namespace are kept")
	g.Expect(before.Withheld).To(Equal(all(granted, other, secret)))
}
