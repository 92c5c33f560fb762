package attach_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// BenchmarkWantsBy measures the lookup for a changed ConfigMap that one of many bindings needs.
func BenchmarkWantsBy(b *testing.B) {
	w := &attach.Wants{}
	for i := range 10_000 {
		ref := configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("settings-", i)}
		if err := w.Set(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("app-", i)}, []configv1alpha1.DependentObjectReference{ref}); err != nil {
			b.Fatal(err)
		}
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	obj := &metav1.ObjectMeta{Namespace: "shop", Name: "settings-77"}
	for b.Loop() {
		if got := w.By(kind, obj); len(got) != 1 {
			b.Fatal(got)
		}
	}
}
