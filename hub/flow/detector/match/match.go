package match

import (
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Best returns the policy that gets a template; nil if none selects it. Policies that are being deleted get nothing. The highest explicit
// priority wins, then the most precise selector, then the first name. All policies are of the same kind and, if namespaced, of the
// template's namespace. Others are the other apiVersions in which the template is served; a policy may select it in any of them.
func Best(policies []policyv1alpha1.Policy, t selector.Target, others ...string) policyv1alpha1.Policy {
	var best policyv1alpha1.Policy
	var implicit selector.Priority
	for _, p := range policies {
		if p.GetDeletionTimestamp() != nil {
			continue
		}
		precise := precision(p, t, others)
		if precise == selector.NoMatch {
			continue
		}
		if best == nil || precedes(p, precise, best, implicit) {
			best, implicit = p, precise
		}
	}
	return best
}

// precedes returns whether policy a, which selects a template with precision pa, takes precedence over b.
func precedes(a policyv1alpha1.Policy, pa selector.Priority, b policyv1alpha1.Policy, pb selector.Priority) bool {
	if ea, eb := explicit(a), explicit(b); ea != eb {
		return ea > eb
	}
	if pa != pb {
		return pa > pb
	}
	return a.GetName() < b.GetName()
}

// Selects returns whether a policy selects a template in its version. A namespaced policy selects only templates of its own namespace.
func Selects(p policyv1alpha1.Policy, t selector.Target) bool {
	if ns := p.GetNamespace(); ns != "" && ns != t.Namespace {
		return false
	}
	return selector.Resource(p.PropagationSpec().ResourceSelectors, t) != selector.NoMatch
}
