package match

import (
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Preemptor returns the policy that takes a template from the policy that has it; nil
// if none does. It is one of those with preemption Always: any PropagationPolicy takes
// from a ClusterPropagationPolicy, none of the latter from one of the former, and
// between two of a kind the explicit priority must be higher. Of several the best
// one takes it, those of the namespace first. Of a grant (see isGrant) the two kinds
// change places. Others are as with Best.
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

// outranks says whether a policy may take a template that another one has.
func outranks(p, holder policyv1alpha1.Policy, t selector.Target) bool {
	wide := p.GetNamespace() == ""
	if wide == (holder.GetNamespace() == "") {
		return explicit(p) > explicit(holder)
	}
	return wide == isGrant(t)
}

// explicit is the priority that the author of a policy gave it.
func explicit(p policyv1alpha1.Policy) int32 { return ptr.Deref(p.PropagationSpec().Priority, 0) }
