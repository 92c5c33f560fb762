package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/test/cluster"
)

// TestAKindThatIsRefusedHoldsUpNoOther covers a hub that forbids the agent to read one of the two kinds: the other
// one must be read and followed nevertheless.
func TestAKindThatIsRefusedHoldsUpNoOther(t *testing.T) { //nolint:paralleltest // the other test counts what changes in the same hub
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	api := hub.Client(t)
	const name, soon = "follows-scripts", 3 * time.Minute // a cache that was refused asks again after up to a minute
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{configv1alpha1.GroupVersion.Group}, Resources: []string{"resourceinterpretercustomizations"}, Verbs: []string{"get", "list", "watch"},
	}}}
	g.Expect(api.Create(t.Context(), role)).To(Succeed())
	g.Expect(api.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})).To(Succeed())
	config := rest.CopyConfig(hub.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	seen, err := cache.New(config, cache.Options{Scheme: api.Scheme(), Mapper: api.RESTMapper()})
	g.Expect(err).NotTo(HaveOccurred())
	compiler, err := lua.NewCompiler(lua.Options{})
	g.Expect(err).NotTo(HaveOccurred())

	mill := schema.GroupVersionKind{Group: "ranch.example.com", Version: "v1", Kind: "Mill"}
	barn := schema.GroupVersionKind{Group: "ranch.example.com", Version: "v1", Kind: "Barn"}
	hooks := func(name string, kind schema.GroupVersionKind) configv1alpha1.ResourceInterpreterWebhookConfiguration {
		return configv1alpha1.ResourceInterpreterWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []configv1alpha1.ResourceInterpreterWebhook{{
				Name: "health.example.com", ClientConfig: configv1alpha1.WebhookClientConfig{URL: new("https://ranch.example.com/ask")},
				Rules: []configv1alpha1.RuleWithOperations{{
					Operations: []configv1alpha1.InterpreterOperation{configv1alpha1.InterpreterOperationInterpretHealth},
					Rule:       configv1alpha1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{"*"}, Kinds: []string{kind.Kind}},
				}},
				InterpreterContextVersions: []string{"v1alpha1"},
			}},
		}
	}
	kept := make(chan store.Sources, 100)
	kinds := store.New(store.Options{
		Compiler: compiler, Services: api,
		Kept: &store.Sources{Webhooks: []configv1alpha1.ResourceInterpreterWebhookConfiguration{hooks("kept", mill)}},
		Keep: func(s store.Sources) { kept <- s },
	})
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
	script := &configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: "ranch-barns"},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target: configv1alpha1.CustomizationTarget{APIVersion: barn.GroupVersion().String(), Kind: barn.Kind},
			Customizations: configv1alpha1.CustomizationRules{
				HealthInterpretation: &configv1alpha1.LuaRule{LuaScript: "function InterpretHealth(o) return true end"},
			},
		},
	}
	g.Expect(api.Create(t.Context(), script)).To(Succeed())
	g.Eventually(has(barn)).WithTimeout(soon).Should(BeTrue(), "what may be read is followed")
	g.Expect(has(mill)()).To(BeTrue(), "of what may not be read stays what was known")
	g.Expect(kinds.Loaded()).NotTo(BeClosed(), "not all was read")
	g.Eventually(kept).WithTimeout(soon).Should(Receive(And(
		HaveField("Webhooks", HaveLen(1)), HaveField("Customizations", ContainElement(HaveField("Name", "ranch-barns"))),
	)))
	g.Expect(api.Delete(t.Context(), script)).To(Succeed())
	g.Eventually(has(barn)).WithTimeout(soon).Should(BeFalse())

	now := hooks("ranch", barn)
	g.Expect(api.Create(t.Context(), &now)).To(Succeed())
	role.Rules[0].Resources = append(role.Rules[0].Resources, "resourceinterpreterwebhookconfigurations")
	g.Expect(api.Update(t.Context(), role)).To(Succeed())
	g.Eventually(has(barn)).WithTimeout(soon).Should(BeTrue(), "the right was given")
	g.Expect(has(mill)()).To(BeFalse(), "the hub has no such webhook any more")
	g.Eventually(kinds.Loaded()).WithTimeout(soon).Should(BeClosed())
}

// halfCache never syncs one of the kinds, and has no informer of the other.
type halfCache struct{ cache.Cache }

func (halfCache) GetInformer(_ context.Context, kind client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if _, ok := kind.(*configv1alpha1.ResourceInterpreterWebhookConfiguration); ok {
		return nil, errors.New("no informer")
	}
	return neverSynced{}, nil
}

type neverSynced struct{ cache.Informer }

func (neverSynced) AddEventHandler(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return neverSyncedHandler{}, nil
}

type neverSyncedHandler struct {
	toolscache.ResourceEventHandlerRegistration
}

func (neverSyncedHandler) HasSynced() bool                            { return false }
func (h neverSyncedHandler) HasSyncedChecker() toolscache.DoneChecker { return h }
func (neverSyncedHandler) Name() string                               { return "" }
func (neverSyncedHandler) Done() <-chan struct{}                      { return nil }

func TestFollowingEndsWithAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	compiler, err := lua.NewCompiler(lua.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	ended := make(chan error, 1)
	go func() { ended <- store.New(store.Options{Compiler: compiler}).Follow(t.Context(), halfCache{}) }()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(MatchError(ContainSubstring("no informer"))))
}
