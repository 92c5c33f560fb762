package store_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

func TestAChangeIsFollowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	api := hub.Client(t)
	seen, err := cache.New(hub.Config, cache.Options{Scheme: api.Scheme(), Mapper: api.RESTMapper()})
	g.Expect(err).NotTo(HaveOccurred())
	compiler, err := lua.NewCompiler(lua.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	kinds := store.New(store.Options{Compiler: compiler, Services: api, BuiltIn: []interpreter.Interpreter{native.New()}})
	g.Expect(kinds.Load(t.Context(), api)).To(Succeed())
	mill := schema.GroupVersionKind{Group: "farm.example.com", Version: "v1", Kind: "Mill"}
	barn := schema.GroupVersionKind{Group: "farm.example.com", Version: "v1", Kind: "Barn"}
	changes := make(chan func(schema.GroupVersionKind) bool, 10)
	kinds.Subscribe(func(affects func(schema.GroupVersionKind) bool) { changes <- affects })

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- seen.Start(ctx) }()
	go func() { ended <- kinds.Follow(ctx, seen) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-ended).To(Succeed())
		g.Expect(<-ended).To(Succeed())
	})
	has := func(kind schema.GroupVersionKind) func() bool {
		return func() bool { return kinds.Has(kind, interpreter.InterpretHealth) }
	}
	g.Expect(has(mill)()).To(BeFalse())

	configuration := &configv1alpha1.ResourceInterpreterWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "farm"},
		Webhooks: []configv1alpha1.ResourceInterpreterWebhook{{
			Name:         "mills.example.com",
			ClientConfig: configv1alpha1.WebhookClientConfig{URL: new("https://mills.example.com/ask")},
			Rules: []configv1alpha1.RuleWithOperations{{
				Operations: []configv1alpha1.InterpreterOperation{configv1alpha1.InterpreterOperationInterpretHealth},
				Rule:       configv1alpha1.Rule{APIGroups: []string{mill.Group}, APIVersions: []string{"*"}, Kinds: []string{mill.Kind}},
			}},
			InterpreterContextVersions: []string{"v1alpha1"},
		}},
	}
	const soon = time.Minute
	g.Expect(api.Create(t.Context(), configuration)).To(Succeed())
	g.Eventually(has(mill)).WithTimeout(soon).Should(BeTrue())
	g.Expect(kinds.AsksOthers(mill, interpreter.InterpretHealth)).To(BeTrue())
	g.Expect(kinds.AsksOthers(barn, interpreter.InterpretHealth)).To(BeFalse())
	without := store.New(store.Options{Compiler: compiler, Services: api, NoWebhooks: true})
	g.Expect(without.Load(t.Context(), api)).To(Succeed())
	g.Expect(without.Has(mill, interpreter.InterpretHealth)).To(BeFalse(), "it calls nobody")
	change := <-changes
	g.Expect(change(mill)).To(BeTrue())
	g.Expect(change(barn)).To(BeFalse())

	configuration.Webhooks[0].Rules[0].Kinds = []string{barn.Kind}
	g.Expect(api.Update(t.Context(), configuration)).To(Succeed())
	g.Eventually(has(barn)).WithTimeout(soon).Should(BeTrue())
	g.Expect(has(mill)()).To(BeFalse(), "the whole table is swapped")
	change = <-changes
	g.Expect(change(mill)).To(BeTrue(), "what was known of it is void")

	before := kinds.Version(barn)
	g.Expect(before).NotTo(BeEmpty())
	g.Expect(kinds.Version(mill)).To(BeEmpty())
	g.Expect(api.Delete(t.Context(), configuration)).To(Succeed())
	g.Eventually(has(barn)).WithTimeout(soon).Should(BeFalse())
	g.Expect(kinds.Version(barn)).To(BeEmpty())
	<-changes

	customization := &configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: "barns"},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target: configv1alpha1.CustomizationTarget{APIVersion: "farm.example.com/v1", Kind: "Barn"},
			Customizations: configv1alpha1.CustomizationRules{
				HealthInterpretation: &configv1alpha1.LuaRule{LuaScript: "function InterpretHealth(o) return o.spec.roof == 'tight' end"},
			},
		},
	}
	g.Expect(api.Create(t.Context(), customization)).To(Succeed())
	g.Eventually(has(barn)).WithTimeout(soon).Should(BeTrue())
	change = <-changes
	g.Expect(change(barn)).To(BeTrue())
	g.Expect(change(mill)).To(BeFalse())
	old := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"roof": "tight"}}}
	old.SetGroupVersionKind(barn)
	g.Expect(kinds.Health(t.Context(), old)).To(Equal(workv1alpha1.Healthy))
	g.Expect(kinds.AsksOthers(barn, interpreter.InterpretHealth)).To(BeFalse(), "a script answers")
	first := kinds.Version(barn)
	customization.Spec.Customizations.HealthInterpretation.LuaScript = "function InterpretHealth(o) return false end"
	g.Expect(api.Update(t.Context(), customization)).To(Succeed())
	g.Eventually(func() (workv1alpha1.ResourceHealth, error) { return kinds.Health(t.Context(), old) }).WithTimeout(soon).
		Should(Equal(workv1alpha1.Unhealthy))
	g.Expect(kinds.Version(barn)).NotTo(Or(BeEmpty(), Equal(first)))
}
