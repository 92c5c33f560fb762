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

// Policies returns the policies that select a template, the winner first, and for each of the others why it does not
// apply. Winner is nil if none applies; claimed says whether the winner has already claimed the template. Others are
// the other apiVersions in which the hub serves the template; policies may select it in those, too, and the winner even
// in one that is no longer served.
func Policies(all []policyv1alpha1.Policy, winner policyv1alpha1.Policy, claimed bool, t selector.Target, others ...string) []Policy {
	out := []Policy{}
	for _, p := range all {
		has := winner != nil && same(p, winner)
		how, served := selectsIn(p, t, others)
		if how == "" || !served && !has {
			continue
		}
		entry := Policy{
			Kind: kindOf(p), Namespace: p.GetNamespace(), Name: p.GetName(), Priority: priority(p), Selects: how,
			Has: has, Why: why(p, winner, claimed, t, others),
		}
		if !served {
			entry.Why += fmt.Sprintf("; but the hub does not serve the object in that version, and it stays as it is: name %s in its resourceSelectors", t.APIVersion)
		}
		out = append(out, entry)
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

// selectsIn returns how a policy selects a template, including the version if that differs, and whether that version is
// served; empty if the policy does not select it.
func selectsIn(p policyv1alpha1.Policy, t selector.Target, others []string) (how string, served bool) {
	versions := match.Versions(p, t)
	if len(versions) == 0 {
		return "", false
	}
	as := t
	as.APIVersion = match.Version(p, t, t.APIVersion, others...)
	how = selects(selector.Resource(p.PropagationSpec().ResourceSelectors, as))
	if as.APIVersion == t.APIVersion {
		return how, true
	}
	return how + " as " + as.APIVersion, slices.Contains(others, as.APIVersion)
}

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

// why says why a policy applies to a template, or does not.
func why(p, winner policyv1alpha1.Policy, claimed bool, t selector.Target, others []string) string {
	if p.GetDeletionTimestamp() != nil {
		return "it is being deleted"
	}
	if winner == nil {
		return "the hub has not looked at it yet"
	}
	if same(p, winner) {
		if claimed {
			return "it has the template, and keeps it until it is deleted, stops selecting it, or a policy with preemption takes it"
		}
		return "it is the best that selects the template"
	}
	switch match.WhyNot(p, winner, claimed, t, others...) {
	case match.WiderScope:
		return "a PropagationPolicy of the namespace takes precedence over any ClusterPropagationPolicy"
	case match.Grant:
		return fmt.Sprintf("for a %s, a ClusterPropagationPolicy takes precedence over any PropagationPolicy of the namespace, because it bounds what may be done there", t.Kind)
	case match.LowerPriority:
		return fmt.Sprintf("its priority %d is lower than %d", priority(p), priority(winner))
	case match.NoPreemption:
		return "the other had the template first; with preemption: Always it would take it"
	case match.LessPrecise:
		mine, _ := selectsIn(p, t, others)
		theirs, _ := selectsIn(winner, t, others)
		return fmt.Sprintf("it selects %s, the other %s", mine, theirs)
	case match.ClaimedBefore:
		return "the other had the template first"
	default:
		return "the name of the other is first in the alphabet"
	}
}
