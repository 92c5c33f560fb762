package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func TestTakesAway(t *testing.T) {
	t.Parallel()
	const strategy = contract.RolloutStrategyAnnotation
	for name, c := range map[string]struct {
		was    func(*workv1alpha2.ResourceBinding)
		is     Strategy
		policy policyv1alpha1.PropagationSpec
		// want is whether it takes something away, resumes whether it only resumes or overwrites.
		want, resumes bool
	}{
		"nothing":             {},
		"a strategy is added": {is: Strategy{Name: "s"}},
		"a strategy stays": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Annotations = map[string]string{strategy: "s"} }, is: Strategy{Name: "s"},
		},
		"a strategy is removed": {was: func(b *workv1alpha2.ResourceBinding) { b.Annotations = map[string]string{strategy: "s"} }, want: true},
		"a strategy is replaced": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Annotations = map[string]string{strategy: "s"} }, is: Strategy{Name: "another"}, want: true,
		},
		"dependencies are added": {policy: policyv1alpha1.PropagationSpec{PropagateDeps: true}},
		"dependencies are removed": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Spec.PropagateDeps = true }, want: true,
		},
		"dependencies of an imported Service stay": {
			was: func(b *workv1alpha2.ResourceBinding) { b.Spec.PropagateDeps = true },
			policy: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{
				{APIVersion: "multicluster.x-k8s.io/v1alpha1", Kind: "ServiceImport"},
			}},
		},
		"objects are preserved":              {policy: policyv1alpha1.PropagationSpec{PreserveResourcesOnDeletion: new(true)}},
		"objects are not preserved any more": {was: func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) }, want: true},
		"dispatching is suspended now":       {policy: policyv1alpha1.PropagationSpec{Suspension: &policyv1alpha1.Suspension{Dispatching: new(true)}}},
		"dispatching is suspended no more": {
			was: func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: some("a")}
			}, resumes: true,
		},
		"nor to any cluster": {
			was: func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}
			},
			policy: policyv1alpha1.PropagationSpec{Suspension: new(some("a"))}, resumes: true,
		},
		"it is to fewer clusters": {
			was: func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: some("a", "b")}
			},
			policy: policyv1alpha1.PropagationSpec{Suspension: new(some("b"))}, resumes: true,
		},
		"it is to more": {
			was: func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: some("a", "b")}
			},
			policy: policyv1alpha1.PropagationSpec{Suspension: new(some("c", "b", "a"))},
		},
		"it is to all": {
			was: func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: some("a")}
			},
			policy: policyv1alpha1.PropagationSpec{Suspension: &policyv1alpha1.Suspension{Dispatching: new(true)}},
		},
		"scheduling alone is suspended": {
			was: func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
			},
		},
		"what members have is overwritten now": {policy: policyv1alpha1.PropagationSpec{ConflictResolution: policyv1alpha1.ConflictOverwrite}, resumes: true},
		"it is as before": {
			was:    func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite },
			policy: policyv1alpha1.PropagationSpec{ConflictResolution: policyv1alpha1.ConflictOverwrite},
		},
		"it is overwritten no more": {was: func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{}
			if c.was != nil {
				c.was(b)
			}
			g.Expect(Plan{Binding: &Desired{Strategy: c.is, Policy: &c.policy}}.TakesAway(b)).To(Equal(c.want))
			g.Expect(Plan{Binding: &Desired{Strategy: c.is, Policy: &c.policy}}.Resumes(b)).To(Equal(c.resumes))
			g.Expect(Plan{}.Resumes(b)).To(BeFalse(), "it leaves the binding as it is")
			g.Expect(Plan{}.TakesAway(b)).To(BeFalse(), "an empty plan takes nothing away")
			g.Expect(Plan{Strategy: &c.is}.TakesAway(b)).To(Equal(c.want && StrategyOn(b).Name != ""), "a plan with only a strategy takes away at most the strategy")
		})
	}
}

// some is a suspension of dispatching to some clusters.
func some(clusters ...string) policyv1alpha1.Suspension {
	return policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}
}
