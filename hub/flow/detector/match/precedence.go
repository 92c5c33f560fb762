package match

import (
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Policy returns the policy that a template should have, and the one from which it takes the template; nil for none. The holder is the
// policy of the claim on the template. It keeps the template while it exists and selects it, unless another policy preempts it. It may
// select it in any version, even one that is not served any more, because the removal of a version must move nothing. A template without a
// holder goes to the best policy of its namespace or, if there is none, to the best ClusterPropagationPolicy; a grant (see isGrant) goes to
// the latter first. Candidates may select anything, and may include the holder. Others are the other apiVersions in which the template is
// served.
func Policy(
	holder policyv1alpha1.Policy, candidates []policyv1alpha1.Policy, t selector.Target, others ...string,
) (winner, victim policyv1alpha1.Policy) {
	if holder != nil && holder.GetDeletionTimestamp() == nil && len(Versions(holder, t)) > 0 {
		if p := Preemptor(holder, candidates, t, others...); p != nil {
			return p, holder
		}
		return holder, nil
	}
	first, then := byScope(candidates, t)
	if best := Best(first, t, others...); best != nil {
		return best, nil
	}
	return Best(then, t, others...), nil
}

// byScope separates the policies of a template's namespace from the cluster-wide ones, and drops those of other namespaces. It returns the
// group with precedence first.
func byScope(policies []policyv1alpha1.Policy, t selector.Target) (first, then []policyv1alpha1.Policy) {
	for _, p := range policies {
		switch p.GetNamespace() {
		case "":
			then = append(then, p)
		case t.Namespace:
			first = append(first, p)
		}
	}
	if isGrant(t) {
		first, then = then, first
	}
	return first, then
}
