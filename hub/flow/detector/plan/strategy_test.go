package plan

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func strategy(name string, selector *metav1.LabelSelector) *fairleadv1alpha1.RolloutStrategy {
	return &fairleadv1alpha1.RolloutStrategy{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: fairleadv1alpha1.RolloutStrategySpec{PolicySelector: selector},
	}
}

// inNamespace adds a namespace selector to a strategy.
func inNamespace(s *fairleadv1alpha1.RolloutStrategy, selector *metav1.LabelSelector) *fairleadv1alpha1.RolloutStrategy {
	s.Spec.NamespaceSelector = selector
	return s
}

func TestStrategyOf(t *testing.T) {
	t.Parallel()
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	tenants := &metav1.LabelSelector{MatchLabels: map[string]string{"of": "tenants"}}
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Near"}}}
	for name, c := range map[string]struct {
		template, policy string
		clusterWide      bool
		strategies       []*fairleadv1alpha1.RolloutStrategy
		was              Strategy
		want             Strategy
	}{
		"no strategy":                                                             {},
		"the policy names a strategy":                                             {policy: "a", want: Strategy{Name: "a"}},
		"the template takes precedence":                                           {template: "b", policy: "a", want: Strategy{Name: "b"}},
		"the template opts out":                                                   {template: "none", policy: "a"},
		"the policy opts out":                                                     {policy: "none"},
		"a strategy that does not exist counts":                                   {policy: "a", strategies: []*fairleadv1alpha1.RolloutStrategy{strategy("b", nil)}, want: Strategy{Name: "a"}},
		"a strategy that selects the policy is forced":                            {template: "none", policy: "a", strategies: []*fairleadv1alpha1.RolloutStrategy{strategy("f", prod)}, want: Strategy{Name: "f", Forced: true}},
		"the first of two that select the policy counts":                          {strategies: []*fairleadv1alpha1.RolloutStrategy{strategy("g", prod), strategy("f", prod)}, want: Strategy{Name: "f", Forced: true}},
		"an empty selector selects every policy":                                  {strategies: []*fairleadv1alpha1.RolloutStrategy{strategy("f", &metav1.LabelSelector{})}, want: Strategy{Name: "f", Forced: true}},
		"a strategy that selects other policies is not forced":                    {strategies: []*fairleadv1alpha1.RolloutStrategy{strategy("f", &metav1.LabelSelector{MatchLabels: map[string]string{"env": "test"}})}},
		"an invalid selector selects none":                                        {strategies: []*fairleadv1alpha1.RolloutStrategy{strategy("f", invalid)}},
		"a strategy that selects the namespace is forced":                         {template: "none", policy: "a", strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", nil), tenants)}, want: Strategy{Name: "f", Forced: true}},
		"a strategy that selects other namespaces is not forced":                  {policy: "a", strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", nil), prod)}, want: Strategy{Name: "a"}},
		"a strategy that selects namespace and policy is forced":                  {strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", prod), tenants)}, want: Strategy{Name: "f", Forced: true}},
		"a strategy that selects the namespace and other policies is not forced":  {strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", tenants), tenants)}},
		"an empty namespace selector selects all namespaces":                      {strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", nil), &metav1.LabelSelector{})}, want: Strategy{Name: "f", Forced: true}},
		"a namespace selector does not select cluster-scoped templates":           {clusterWide: true, strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", nil), &metav1.LabelSelector{})}},
		"an invalid namespace selector selects none":                              {strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", nil), invalid)}},
		"a strategy that is not named any more is removed":                        {was: Strategy{Name: "a"}},
		"a strategy that was forced and lost its selector is removed":             {strategies: []*fairleadv1alpha1.RolloutStrategy{strategy("f", nil)}, was: Strategy{Name: "f", Forced: true}},
		"a forced strategy that was deleted stays":                                {was: Strategy{Name: "f", Forced: true}, want: Strategy{Name: "f", Forced: true}},
		"a forced strategy that was deleted stays although the policy names one":  {policy: "a", was: Strategy{Name: "f", Forced: true}, want: Strategy{Name: "f", Forced: true}},
		"a forced strategy that was deleted stays although the template opts out": {template: "none", was: Strategy{Name: "f", Forced: true}, want: Strategy{Name: "f", Forced: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := held()
			labels := in.Winner.GetLabels()
			labels["env"] = "prod"
			in.Winner.SetLabels(labels)
			if c.policy != "" {
				in.Winner.SetAnnotations(map[string]string{contract.RolloutStrategyAnnotation: c.policy})
			}
			if c.template != "" {
				in.Template.SetAnnotations(map[string]string{contract.RolloutStrategyAnnotation: c.template})
			}
			in.Strategies = c.strategies
			if !c.clusterWide {
				in.Namespace = &metav1.ObjectMeta{Name: "shops", Labels: map[string]string{"of": "tenants"}}
			}
			c.was.Set(in.Binding)
			g.Expect(StrategyOn(in.Binding)).To(Equal(c.was))
			p := Decide(in)
			g.Expect(p.Binding).NotTo(BeNil())
			p.Binding.Update(in.Binding)
			g.Expect(StrategyOn(in.Binding)).To(Equal(c.want))
		})
	}
}

func TestLazyPolicyDoesNotDelayStrategy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := held()
	in.Winner.PropagationSpec().ActivationPreference = "Lazy"
	in.Winner.SetAnnotations(map[string]string{contract.RolloutStrategyAnnotation: "careful"})
	in.Edit = "1"
	in.Template.SetAnnotations(map[string]string{contract.TemplateEditAnnotation: "1"})
	p := Decide(in)
	g.Expect(p.Outcome).To(Equal(Postponed))
	g.Expect(p.BindingClaim).NotTo(BeNil())
	g.Expect(p.Strategy).To(HaveValue(Equal(Strategy{Name: "careful"})))
}

func TestStrategyOnReadsSetStrategy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"other": "x"}}}
	Strategy{Name: "f", Forced: true}.Set(b)
	g.Expect(StrategyOn(b)).To(Equal(Strategy{Name: "f", Forced: true}))
	Strategy{}.Set(b)
	g.Expect(b.Annotations).To(Equal(map[string]string{"other": "x"}))
}

// TestAnnotationsOfTenantsAreBounded: the annotations of a binding must leave room for those of the hub.
func TestAnnotationsOfTenantsAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	long := strings.Repeat("x", 200<<10)
	in := held()
	in.Winner.SetAnnotations(map[string]string{contract.ReturnToPreferredAnnotation: long, contract.RolloutStrategyAnnotation: long})
	p := Decide(in)
	p.Binding.Update(in.Binding)
	g.Expect(len(in.Binding.GetAnnotations()[contract.ReturnToPreferredAnnotation])).To(BeNumerically("<=", 253))
	g.Expect(len(StrategyOn(in.Binding).Name)).To(And(BeNumerically(">", 0), BeNumerically("<=", 253)), "the name is cut to the longest valid length")
}
