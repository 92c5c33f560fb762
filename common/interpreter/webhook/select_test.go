package webhook_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/webhook"
)

func TestOfSeveralWebhooksTheFirstByNameIsAsked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	well, ill := serve(t, saying(`,"healthy":true`)), serve(t, saying(`,"healthy":false`))
	named := func(configuration, name string, s *server) configv1alpha1.ResourceInterpreterWebhookConfiguration {
		hook := s.hook()
		hook.Name = name
		return configv1alpha1.ResourceInterpreterWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: configuration}, Webhooks: []configv1alpha1.ResourceInterpreterWebhook{hook},
		}
	}
	type configurations = []configv1alpha1.ResourceInterpreterWebhookConfiguration
	for _, c := range []configurations{
		{named("b", "a", ill), named("a", "b", well)},
		{named("a", "b", well), named("b", "a", ill)},
		{named("a", "b", ill), named("a-b", "a", well)}, // as their names are compared with the slash
	} {
		kinds := webhook.New(c, nil)
		g.Expect(kinds.Health(t.Context(), mill())).To(Equal(workv1alpha1.Healthy))
	}
	configuration := named("a", "z", ill)
	configuration.Webhooks = append(configuration.Webhooks, named("", "b", well).Webhooks...)
	g.Expect(webhook.New(configurations{configuration}, nil).Health(t.Context(), mill())).To(Equal(workv1alpha1.Healthy))
}

func TestAWebhookIsAskedAboutWhatItsRulesMatch(t *testing.T) {
	t.Parallel()
	type (
		operations = []configv1alpha1.InterpreterOperation
		rules      = []configv1alpha1.RuleWithOperations
		list       = []string
	)
	rule := func(o operations, groups, versions, kinds list) configv1alpha1.RuleWithOperations {
		return configv1alpha1.RuleWithOperations{Operations: o, Rule: configv1alpha1.Rule{APIGroups: groups, APIVersions: versions, Kinds: kinds}}
	}
	const health, retain = configv1alpha1.InterpreterOperationInterpretHealth, configv1alpha1.InterpreterOperationRetain
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	tests := map[string]struct {
		rules rules
		kind  schema.GroupVersionKind
		want  bool
	}{
		"nothing":                         {nil, pod, false},
		"everything":                      {rules{rule(operations{"*"}, list{"*"}, list{"*"}, list{"*"})}, widget, true},
		"the core group":                  {rules{rule(operations{health}, list{""}, list{"v1"}, list{"Pod"})}, pod, true},
		"the core group has no other":     {rules{rule(operations{health}, list{""}, list{"*"}, list{"*"})}, widget, false},
		"another operation":               {rules{rule(operations{retain}, list{"*"}, list{"*"}, list{"*"})}, pod, false},
		"another version":                 {rules{rule(operations{health}, list{"example.com"}, list{"v1beta1", "v2"}, list{"Widget"})}, widget, false},
		"another kind":                    {rules{rule(operations{health}, list{"example.com"}, list{"v1"}, list{"Gadget"})}, widget, false},
		"any of a list":                   {rules{rule(operations{retain, health}, list{"a.com", "example.com"}, list{"v2", "v1"}, list{"Gadget", "Widget"})}, widget, true},
		"any of the rules":                {rules{rule(operations{health}, list{""}, list{"v1"}, list{"Pod"}), rule(operations{health}, list{"*"}, list{"v1"}, list{"Widget"})}, widget, true},
		"not some of one and some others": {rules{rule(operations{retain}, list{"example.com"}, list{"v1"}, list{"Widget"}), rule(operations{health}, list{""}, list{"v1"}, list{"Pod"})}, widget, false},
		"a rule that names no kinds":      {rules{rule(operations{health}, list{"*"}, list{"*"}, nil)}, widget, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds := asking(configv1alpha1.ResourceInterpreterWebhook{Name: "w", Rules: tt.rules}, nil)
			NewWithT(t).Expect(kinds.Has(tt.kind, interpreter.InterpretHealth)).To(Equal(tt.want))
		})
	}
}

// TestAWebhookThatIsConfiguredWronglySaysSo checks that a webhook that cannot be called is an error: falling through
// to lower layers would give another result than its author intended.
func TestAWebhookThatIsConfiguredWronglySaysSo(t *testing.T) {
	t.Parallel()
	service := &configv1alpha1.ServiceReference{Namespace: "farm", Name: "mills"}
	tests := map[string]struct {
		change func(*configv1alpha1.ResourceInterpreterWebhook)
		want   string
	}{
		"a url and a service": {func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.Service = service }, "clientConfig must have either a url or a service"},
		"neither":             {func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.URL = nil }, "clientConfig must have either a url or a service"},
		"a url without TLS":   {func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.URL = new("http://example.com") }, `"http://example.com" is no https URL`},
		"a url without host":  {func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.URL = new("https:///ask") }, "is no https URL"},
		"a url that is none":  {func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.URL = new("https://a b") }, "clientConfig.url is no https URL"},
		"authorities that are none": {
			func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.CABundle = []byte("none") }, "clientConfig.caBundle has no certificate in PEM",
		},
		"versions that nobody sends": {
			func(w *configv1alpha1.ResourceInterpreterWebhook) { w.InterpreterContextVersions = []string{"v2"} }, "interpreterContextVersions lacks v1alpha1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hook := serve(t, saying(`,"healthy":true`)).hook()
			tt.change(&hook)
			kinds := asking(hook, nil)
			g.Expect(kinds.Has(mill().GroupVersionKind(), interpreter.InterpretHealth)).To(BeTrue())
			_, err := kinds.Health(t.Context(), mill())
			g.Expect(err).To(MatchError(And(ContainSubstring(`"farm/mills.example.com"`), ContainSubstring(tt.want))))
		})
	}
}
