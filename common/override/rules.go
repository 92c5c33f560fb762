package override

import (
	"sync"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Rule is a rule of an override policy for a template, in a form that can be stored.
type Rule struct {
	// Policy and Namespace name the policy; a ClusterOverridePolicy has no namespace.
	Policy    string `json:"policy"`
	Namespace string `json:"namespace,omitempty"`
	// Index is the rule's index in overrideRules; -1 is the deprecated form.
	Index int `json:"index"`
	// TargetCluster selects the clusters; all if absent.
	TargetCluster *policyv1alpha1.ClusterAffinity `json:"targetCluster,omitempty"`
	// Overriders are the changes for these clusters.
	Overriders policyv1alpha1.Overriders `json:"overriders"`
}

// Rules returns the rules of a plan in the order in which they are applied. They share memory with the policies.
func (p Plan) Rules() []Rule {
	var out []Rule
	for _, list := range [][]step{p.cluster, p.namespaced} {
		for i := range list {
			s := &list[i]
			out = append(out, Rule{
				Policy: s.policy.name, Namespace: s.policy.namespace, Index: s.index, TargetCluster: s.target, Overriders: *s.overriders,
			})
		}
	}
	return out
}

// Of makes a plan of stored rules, in their order. It does not copy them.
func Of(rules []Rule) Plan {
	var out Plan
	for i := range rules {
		rule := &rules[i]
		s := step{policy: policy{kind: "ClusterOverridePolicy", name: rule.Policy}, index: rule.Index, overriders: &rule.Overriders}
		if rule.Namespace == "" {
			out.cluster = appendStep(out.cluster, s, rule.TargetCluster)
			continue
		}
		s.policy.kind, s.policy.namespace = "OverridePolicy", rule.Namespace
		out.namespaced = appendStep(out.namespaced, s, rule.TargetCluster)
	}
	return out
}

func appendStep(list []step, s step, target *policyv1alpha1.ClusterAffinity) []step {
	if empty(s.overriders) {
		return list
	}
	// Most rules apply to few clusters, so a rule is decoded when the first one needs it.
	overriders := s.overriders
	s.target, s.decoded = target, sync.OnceValues(func() (*decoded, error) { return decodeRule(overriders) })
	s.matcher, s.matcherErr = selector.CompileCluster(target)
	return append(list, s)
}
