package match

import (
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Policy returns the policy that a template is to have, and the one from which it takes the
// template; nil for none. The holder, which is the policy of the claim on the template,
// keeps the template while it is there and selects it, unless another one preempts it: in
// whatever version, even one that is not served any more, for that a version goes must move
// nothing. A template without a holder goes to the best policy of its namespace, or else to
// the best ClusterPropagationPolicy; a grant (see isGrant) to the latter first. Candidates may select anything, and the holder may be
// among them. Others are the other apiVersions in which the template is served.
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

// byScope separates the policies of a template's namespace from the cluster-wide ones, and
// leaves out those of other namespaces. It returns first those that come before the others.
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
