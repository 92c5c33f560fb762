package explain

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/match"
)

// Policies lists the policies that select a template, the one that has it first, and why
// each of the others has not. The winner is nil if none has it, and claimed says whether
// it has it already, or is to get it.
func Policies(all []policyv1alpha1.Policy, winner policyv1alpha1.Policy, claimed bool, t selector.Target) []Policy {
	out := []Policy{}
	for _, p := range all {
		if p.GetNamespace() != "" && p.GetNamespace() != t.Namespace {
			continue
		}
		precision := selector.Resource(p.PropagationSpec().ResourceSelectors, t)
		if precision == selector.NoMatch {
			continue
		}
		has := winner != nil && same(p, winner)
		out = append(out, Policy{
			Kind: kindOf(p), Namespace: p.GetNamespace(), Name: p.GetName(), Priority: priority(p), Selects: selects(precision),
			Has: has, Why: why(p, winner, claimed, t),
		})
	}
	slices.SortStableFunc(out, func(a, b Policy) int {
		return cmp.Or(-compare(a.Has, b.Has), -cmp.Compare(a.Kind, b.Kind), -cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func same(a, b policyv1alpha1.Policy) bool {
	return a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

func kindOf(p policyv1alpha1.Policy) string {
	if p.GetNamespace() == "" {
		return policyv1alpha1.KindClusterPropagationPolicy
	}
	return policyv1alpha1.KindPropagationPolicy
}

func priority(p policyv1alpha1.Policy) int32 { return ptr.Deref(p.PropagationSpec().Priority, 0) }

func selects(precision selector.Priority) string {
	switch precision {
	case selector.MatchName:
		return "by name"
	case selector.MatchLabelSelector:
		return "by labels"
	default:
		return "every one of the kind"
	}
}

// why says why a policy has a template or has not.
func why(p, winner policyv1alpha1.Policy, claimed bool, t selector.Target) string {
	if p.GetDeletionTimestamp() != nil {
		return "it is being deleted"
	}
	if winner == nil {
		return "the hub has not looked at it yet"
	}
	if same(p, winner) {
		if claimed {
			return "it has the template, and keeps it until it goes, stops selecting it, or a policy with preemption takes it"
		}
		return "it is the best that selects the template"
	}
	switch match.WhyNot(p, winner, claimed, t) {
	case match.WiderScope:
		return "a PropagationPolicy of the namespace comes before any ClusterPropagationPolicy"
	case match.LowerPriority:
		return fmt.Sprintf("its priority %d is below %d", priority(p), priority(winner))
	case match.NoPreemption:
		return "the other had the template first; with preemption: Always it would take it"
	case match.LessPrecise:
		mine, theirs := selector.Resource(p.PropagationSpec().ResourceSelectors, t), selector.Resource(winner.PropagationSpec().ResourceSelectors, t)
		return fmt.Sprintf("it selects %s, the other %s", selects(mine), selects(theirs))
	case match.ClaimedBefore:
		return "the other had the template first"
	default:
		return "the name of the other comes first"
	}
}
