package match

import (
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Preemptor returns the policy that takes a template from the policy that has it; nil if none does. It must have preemption Always. A
// PropagationPolicy takes templates from ClusterPropagationPolicies, and never the other way round; between two of the same kind, the
// explicit priority must be higher. Among several, the best one takes the template, those of the namespace first. For a grant (see isGrant)
// the two kinds change places. Others are as in Best.
func Preemptor(holder policyv1alpha1.Policy, policies []policyv1alpha1.Policy, t selector.Target, others ...string) policyv1alpha1.Policy {
	var preempting []policyv1alpha1.Policy
	for _, p := range policies {
		if p.PropagationSpec().Preemption == policyv1alpha1.PreemptAlways && outranks(p, holder, t) {
			preempting = append(preempting, p)
		}
	}
	first, then := byScope(preempting, t)
	if best := Best(first, t, others...); best != nil {
		return best
	}
	return Best(then, t, others...)
}

// outranks returns whether a policy may take a template that another one has.
func outranks(p, holder policyv1alpha1.Policy, t selector.Target) bool {
	wide := p.GetNamespace() == ""
	if wide == (holder.GetNamespace() == "") {
		return explicit(p) > explicit(holder)
	}
	return wide == isGrant(t)
}

// explicit returns the priority that the author of a policy set.
func explicit(p policyv1alpha1.Policy) int32 { return ptr.Deref(p.PropagationSpec().Priority, 0) }
