package override

import (
	"cmp"
	"slices"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// Policies are the override policies of a hub.
type Policies struct {
	// Cluster are the ClusterOverridePolicies.
	Cluster []policyv1alpha1.ClusterOverridePolicy
	// Namespaced are OverridePolicies. Those of other namespaces than the template's are ignored.
	Namespaced []policyv1alpha1.OverridePolicy
}

// Plan holds the rules of the policies for one template, for any cluster, in the order in which they apply. The zero
// value changes nothing. It is safe for concurrent use as long as the policies are not changed.
type Plan struct {
	cluster    []step
	namespaced []step
}

// step is one rule of a policy.
type step struct {
	policy policy
	// index is the rule's index in overrideRules; -1 is the deprecated form.
	index      int
	target     *policyv1alpha1.ClusterAffinity
	matcher    selector.ClusterMatcher
	matcherErr error
	overriders *policyv1alpha1.Overriders
	// decoded returns the part of the rule that is the same for every cluster, or why it cannot be applied anywhere.
	decoded func() (*decoded, error)
}

// policy holds the fields that OverridePolicy and ClusterOverridePolicy share.
type policy struct {
	kind      string
	namespace string
	name      string
	spec      *policyv1alpha1.OverrideSpec
	priority  selector.Priority
}

// Select picks and sorts the policies that select a template.
func Select(policies Policies, t selector.Target) Plan {
	var cluster, namespaced []policy
	for i := range policies.Cluster {
		p := &policies.Cluster[i]
		cluster = appendMatching(cluster, policy{kind: "ClusterOverridePolicy", name: p.Name, spec: &p.Spec}, t)
	}
	for i := range policies.Namespaced {
		p := &policies.Namespaced[i]
		if t.Namespace == "" || p.Namespace != t.Namespace {
			continue
		}
		namespaced = appendMatching(namespaced, policy{kind: "OverridePolicy", namespace: p.Namespace, name: p.Name, spec: &p.Spec}, t)
	}
	return Plan{cluster: steps(cluster), namespaced: steps(namespaced)}
}

// Empty returns whether no policy selects the template.
func (p Plan) Empty() bool { return len(p.cluster) == 0 && len(p.namespaced) == 0 }

func appendMatching(list []policy, p policy, t selector.Target) []policy {
	p.priority = selector.MatchAll
	if len(p.spec.ResourceSelectors) > 0 {
		p.priority = selector.Resource(p.spec.ResourceSelectors, t)
	}
	if p.priority == selector.NoMatch {
		return list
	}
	return append(list, p)
}

// steps returns the rules of the policies in the order in which they are applied.
func steps(policies []policy) []step {
	slices.SortFunc(policies, func(a, b policy) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.name, b.name))
	})
	var out []step
	for _, p := range policies {
		for i := range p.spec.OverrideRules {
			rule := &p.spec.OverrideRules[i]
			out = appendStep(out, step{policy: p, index: i, overriders: &rule.Overriders}, rule.TargetCluster)
		}
		if len(p.spec.OverrideRules) == 0 {
			out = appendStep(out, step{policy: p, index: -1, overriders: &p.spec.Overriders}, p.spec.TargetCluster)
		}
	}
	return out
}

func empty(o *policyv1alpha1.Overriders) bool {
	return len(o.Plaintext)+len(o.ImageOverrider)+len(o.CommandOverrider)+len(o.ArgsOverrider)+
		len(o.LabelsOverrider)+len(o.AnnotationsOverrider)+len(o.FieldOverrider) == 0
}
