package plan

import (
	"k8s.io/utils/ptr"

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
