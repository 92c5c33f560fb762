package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func TestAPlanTellsThatItTakesSomethingAway(t *testing.T) {
	t.Parallel()
	const strategy = contract.RolloutStrategyAnnotation
	for name, c := range map[string]struct {
		was    func(*workv1alpha2.ResourceBinding)
		is     Strategy
		policy policyv1alpha1.PropagationSpec
		want   bool
	}{
		"nothing":           {},
		"a strategy is new": {is: Strategy{Name: "s"}},
		"a strategy stays": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Annotations = map[string]string{strategy: "s"} }, is: Strategy{Name: "s"},
		},
		"a strategy goes": {was: func(b *workv1alpha2.ResourceBinding) { b.Annotations = map[string]string{strategy: "s"} }, want: true},
		"a strategy is another one": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Annotations = map[string]string{strategy: "s"} }, is: Strategy{Name: "another"}, want: true,
		},
		"what is needed follows now": {policy: policyv1alpha1.PropagationSpec{PropagateDeps: true}},
		"what is needed follows no more": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Spec.PropagateDeps = true }, want: true,
		},
		"what an imported Service needs follows all the same": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Spec.PropagateDeps = true },
			policy: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{
				{APIVersion: "multicluster.x-k8s.io/v1alpha1", Kind: "ServiceImport"},
			}},
		},
		"objects stay now":     {policy: policyv1alpha1.PropagationSpec{PreserveResourcesOnDeletion: new(true)}},
		"objects stay no more": {was: func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{}
			if c.was != nil {
				c.was(b)
			}
			g.Expect(Plan{Binding: &Desired{Strategy: c.is, Policy: &c.policy}}.TakesAway(b)).To(Equal(c.want))
			g.Expect(Plan{}.TakesAway(b)).To(BeFalse(), "it leaves the binding as it is")
			g.Expect(Plan{Strategy: &c.is}.TakesAway(b)).To(Equal(c.want && StrategyOn(b).Name != ""), "it leaves the rest as it is")
		})
	}
}
