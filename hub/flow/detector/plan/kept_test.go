package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
)

func TestForcedStrategyHoldsIfPolicyIsNotApplied(t *testing.T) {
	t.Parallel()
	tenants := &metav1.LabelSelector{MatchLabels: map[string]string{"of": "tenants"}}
	for name, given := range map[string]func(*Input){
		"its policy is lazy": func(in *Input) {
			in.Winner.PropagationSpec().ActivationPreference, in.Edit = policyv1alpha1.LazyActivation, "1"
			metav1.SetMetaDataAnnotation(&in.Template.ObjectMeta, contract.TemplateEditAnnotation, "1")
		},
		"its PriorityClass does not exist":                   func(in *Input) { in.MissingClass = "urgent" },
		"its override policy does not exist":                 func(in *Input) { in.Missing, in.Winner = []string{"op"}, rival() },
		"policies do not apply to it":                        func(in *Input) { in.Excluded, in.Winner = true, nil },
		"policies do not apply to it and the holder is gone": func(in *Input) { in.Excluded, in.Winner, in.Holder = true, nil, nil },
		"no policy selects it":                               func(in *Input) { in.Winner = nil },
		"no policy has it any more":                          leave,
		"it is being deleted":                                func(in *Input) { going(in.Template) },
		"the policy has no id yet":                           func(in *Input) { in.Winner.SetLabels(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := held()
			in.Namespace = &metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"of": "tenants"}}
			given(&in)
			p := Decide(in)
			g.Expect(p.Binding).To(BeNil())
			g.Expect(p.Strategy).To(BeNil(), "no strategy is forced")
			in.Strategies = []*fairleadv1alpha1.RolloutStrategy{strategy("a", tenants), inNamespace(strategy("f", nil), tenants)}
			want := Strategy{Name: "f", Forced: true}
			g.Expect(Decide(in).Strategy).To(HaveValue(Equal(want)))
			want.Set(in.Binding)
			g.Expect(Decide(in).Strategy).To(BeNil(), "the binding already has the strategy")
			in.Namespace = &metav1.ObjectMeta{Name: "shop"}
			p = Decide(in)
			g.Expect(p.Strategy).To(HaveValue(Equal(Strategy{})), "the strategy is removed with the label of the namespace")
			g.Expect(p.TakesAway(in.Binding)).To(BeTrue())
			in.Strategies = nil
			g.Expect(Decide(in).Strategy).To(BeNil(), "a deleted strategy stays on the binding")
		})
	}
}

// leave makes an input whose template has had no policy for some time.
func leave(in *Input) {
	in.Winner, in.Holder, in.Claim = nil, nil, claim.Claim{}
	claim.Clear(in.Template)
	claim.Clear(in.Binding)
}

func TestKept(t *testing.T) {
	t.Parallel()
	prod, tenants := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"of": "tenants"}}
	others := &metav1.LabelSelector{MatchLabels: map[string]string{"of": "others"}}
	f := func(of, in *metav1.LabelSelector) []*fairleadv1alpha1.RolloutStrategy {
		return []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("f", of), in)}
	}
	forced := Strategy{Name: "f", Forced: true}
	for name, c := range map[string]struct {
		template   string
		strategies []*fairleadv1alpha1.RolloutStrategy
		follows    bool
		unmade     bool
		was, want  Strategy
	}{
		"nothing": {},
		"a strategy that the policy or the template named stays":            {was: Strategy{Name: "a"}, want: Strategy{Name: "a"}},
		"a later annotation of the template waits for a policy":             {was: Strategy{Name: "a"}, template: "none", want: Strategy{Name: "a"}},
		"an annotation of the template alone has no effect":                 {template: "a"},
		"a strategy that selects the namespace is set":                      {strategies: f(nil, tenants), want: forced},
		"a strategy that selects the namespace replaces another one":        {strategies: f(nil, tenants), was: Strategy{Name: "a"}, template: "none", want: forced},
		"a strategy that also selects policies is not set":                  {strategies: f(prod, tenants)},
		"no strategy is set on an attached binding":                         {strategies: f(nil, tenants), follows: true},
		"a strategy on an attached binding stays":                           {strategies: f(nil, tenants), follows: true, was: forced, want: forced},
		"no strategy is set on a binding of another creator":                {strategies: f(nil, tenants), unmade: true},
		"the strategy is removed when the namespace loses the label":        {strategies: f(nil, others), was: forced},
		"the strategy is removed from an attached binding, too":             {strategies: f(nil, others), was: forced, follows: true},
		"the strategy is removed when it has no selector any more":          {strategies: f(nil, nil), was: forced},
		"the template's annotation applies once the strategy is removed":    {strategies: f(nil, others), was: forced, template: "a", want: Strategy{Name: "a"}},
		"a deleted strategy stays":                                          {was: forced, template: "none", want: forced},
		"a strategy that selected the deleted policy stays":                 {strategies: f(prod, nil), was: forced, template: "none", want: forced},
		"a strategy that selects the namespace and policies stays":          {strategies: f(prod, tenants), was: forced, want: forced},
		"a strategy that selects another namespace and policies is removed": {strategies: f(prod, others), was: forced},
		"another forced strategy replaces it":                               {strategies: append(f(nil, others), inNamespace(strategy("g", nil), tenants)), was: forced, want: Strategy{Name: "g", Forced: true}},
		"another forced strategy replaces a deleted one":                    {strategies: []*fairleadv1alpha1.RolloutStrategy{inNamespace(strategy("g", nil), tenants)}, was: forced, want: Strategy{Name: "g", Forced: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := held()
			leave(&in)
			in.Strategies, in.Namespace = c.strategies, &metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"of": "tenants"}}
			if c.template != "" {
				metav1.SetMetaDataAnnotation(&in.Template.ObjectMeta, contract.RolloutStrategyAnnotation, c.template)
			}
			if c.unmade {
				in.Binding.SetAnnotations(nil)
			}
			c.was.Set(in.Binding)
			if c.follows {
				in.Binding.BindingSpec().RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "db-deployment"}}
			}
			g.Expect(Kept(in)).To(Equal(c.want))
			if p := Decide(in); c.was == c.want {
				g.Expect(p.Strategy).To(BeNil())
			} else {
				g.Expect(p.Strategy).To(HaveValue(Equal(c.want)))
			}
			in.Template = nil
			if c.template != "a" || c.want.Name != "a" {
				g.Expect(Kept(in)).To(Equal(c.want), "the template's annotation does not matter if it is not read")
			}
		})
	}
}

func TestNoStrategyOnBindingOfAnotherObject(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := held()
	in.Template.UID = "another"
	in.Strategies = []*fairleadv1alpha1.RolloutStrategy{strategy("f", &metav1.LabelSelector{})}
	g.Expect(Decide(in).Strategy).To(BeNil())
}
