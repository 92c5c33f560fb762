package store_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/store"
)

// listed are all existing customizations.
type listed []configv1alpha1.ResourceInterpreterCustomization

func (listed) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (l listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if all, ok := list.(*configv1alpha1.ResourceInterpreterCustomizationList); ok {
		all.Items = append(all.Items, l...)
	}
	return nil
}

// TestAFailureIsOfTheCustomizationAsItIsNow covers a customization that is deleted and recreated from the same file:
// failures of the new one must be reported again.
func TestAFailureIsOfTheCustomizationAsItIsNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var failed []lua.Failure
	compiler, err := lua.NewCompiler(lua.Options{Failed: func(f lua.Failure) { failed = append(failed, f) }})
	g.Expect(err).NotTo(HaveOccurred())
	kinds := store.New(store.Options{Compiler: compiler, NoWebhooks: true})
	changes := 0
	kinds.Subscribe(func(func(schema.GroupVersionKind) bool) { changes++ })
	barn := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "farm.example.com/v1", "kind": "Barn"}}
	for _, now := range []struct {
		uid        types.UID
		generation int64
	}{{"one", 1}, {"two", 1}, {"two", 3}} {
		all := listed{{
			ObjectMeta: metav1.ObjectMeta{Name: "barns", UID: now.uid, Generation: now.generation},
			Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
				Target: configv1alpha1.CustomizationTarget{APIVersion: "farm.example.com/v1", Kind: "Barn"},
				Customizations: configv1alpha1.CustomizationRules{
					HealthInterpretation: &configv1alpha1.LuaRule{LuaScript: "function InterpretHealth(o) return o.none.none end"},
				},
			},
		}}
		g.Expect(kinds.Load(t.Context(), all)).To(Succeed())
		failed = nil
		_, err := kinds.Health(t.Context(), barn)
		g.Expect(err).To(HaveOccurred())
		g.Expect(failed).To(HaveLen(1))
		g.Expect(failed[0].UID).To(Equal(now.uid))
		g.Expect(failed[0].Generation).To(Equal(now.generation))
	}
	g.Expect(changes).To(Equal(1), "the answers stay the same")
}
