package plan

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// TakesAway says whether a plan takes from a binding what keeps something from all clusters at once: the strategy by which changes reach
// them, what its workload needs, or that objects stay when it goes. What comes of that cannot be taken back.
func (p Plan) TakesAway(b workv1alpha2.Binding) bool {
	was, spec := StrategyOn(b), b.BindingSpec()
	if p.Binding == nil {
		return p.Strategy != nil && was.Name != "" && was != *p.Strategy
	}
	policy := p.Binding.Policy
	return was.Name != "" && was != p.Binding.Strategy ||
		spec.PropagateDeps && !propagatesDeps(policy) ||
		ptr.Deref(spec.PreserveResourcesOnDeletion, false) && !ptr.Deref(policy.PreserveResourcesOnDeletion, false)
}

// Resumes says whether a plan dispatches a binding to clusters to which it was suspended, or has objects overwritten that their member had
// before. Neither can be taken back, and both depend on the policy alone.
func (p Plan) Resumes(b workv1alpha2.Binding) bool {
	if p.Binding == nil {
		return false
	}
	spec, policy := b.BindingSpec(), p.Binding.Policy
	return resumes(spec.Suspension, policy.Suspension) ||
		spec.ConflictResolution != policyv1alpha1.ConflictOverwrite && policy.ConflictResolution == policyv1alpha1.ConflictOverwrite
}

// resumes says whether something is dispatched by a policy to some cluster to which a binding has it suspended.
func resumes(was *workv1alpha2.Suspension, is *policyv1alpha1.Suspension) bool {
	switch {
	case was == nil, is != nil && ptr.Deref(is.Dispatching, false):
		return false
	case ptr.Deref(was.Dispatching, false):
		return true
	}
	return !sets.New(suspended(is)...).HasAll(suspended(&was.Suspension)...)
}

// suspended returns the clusters that a suspension names.
func suspended(s *policyv1alpha1.Suspension) []string {
	if s == nil || s.DispatchingOnClusters == nil {
		return nil
	}
	return s.DispatchingOnClusters.ClusterNames
}
