package match

import (
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Reason says why a policy that selects a template does not have it, while another one has.
type Reason int

// The reasons, in the order in which they are checked.
const (
	// WiderScope means that it is a ClusterPropagationPolicy and the other is of the template's namespace.
	WiderScope Reason = iota
	// Grant means that the template is a grant (see isGrant), and that the other is a ClusterPropagationPolicy.
	Grant
	// LowerPriority means that the other has a higher explicit priority.
	LowerPriority
	// NoPreemption means that the policy could take the template, but does not have preemption Always.
	NoPreemption
	// LessPrecise means that the other has a more precise selector.
	LessPrecise
	// ClaimedBefore means that the other had the template first.
	ClaimedBefore
	// LaterName means that only the names decide.
	LaterName
)

// WhyNot returns why p does not have a template that winner has, or will have if it is not claimed yet. Both select it, in its version or
// in one of others.
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
