package match

import (
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Reason is why a policy that selects a template does not have it, while another one has.
type Reason int

// All reasons, in the order in which they are looked at.
const (
	// WiderScope is that of a ClusterPropagationPolicy beside a policy of the namespace.
	WiderScope Reason = iota
	// Grant is that of a policy of the namespace beside a ClusterPropagationPolicy, of a template that says who may do what, or how much.
	Grant
	// LowerPriority is less explicit priority than that of the other.
	LowerPriority
	// NoPreemption is that of a policy that could take the template, but does not ask to.
	NoPreemption
	// LessPrecise is a selector that is less precise than that of the other.
	LessPrecise
	// ClaimedBefore is that the other had the template first.
	ClaimedBefore
	// LaterName is all that is left between policies that are alike.
	LaterName
)

// WhyNot says why p does not have a template that winner has, or is to have if it is not claimed
// yet. Both select it, in its version or in one of others.
func WhyNot(p, winner policyv1alpha1.Policy, claimed bool, t selector.Target, others ...string) Reason {
	switch {
	case p.GetNamespace() == "" && winner.GetNamespace() != "" && !isGrant(t):
		return WiderScope
	case p.GetNamespace() != "" && winner.GetNamespace() == "" && isGrant(t):
		return Grant
	case p.GetNamespace() == winner.GetNamespace() && explicit(p) < explicit(winner):
		return LowerPriority
	case claimed && outranks(p, winner, t):
		return NoPreemption
	case precision(p, t, others) < precision(winner, t, others):
		return LessPrecise
	case claimed:
		return ClaimedBefore
	default:
		return LaterName
	}
}
