package evict

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// TaintPolicies are those that put NoExecute taints on clusters, ready to be asked which taints
// they put there, and which of these are about to go because what they were put there for is
// over. A cluster that is back is Ready before its taints are gone, and nothing is to be moved
// away in between.
type TaintPolicies struct {
	policies []taintPolicy
	keys     sets.Set[string]
	silence  sets.Set[string]
}

type taintPolicy struct {
	spec    *policyv1alpha1.ClusterTaintPolicySpec
	matcher selector.ClusterMatcher
	keys    []string
}

// CompileTaintPolicies makes policies ready. One that cannot be read does nothing.
func CompileTaintPolicies(list []policyv1alpha1.ClusterTaintPolicy) TaintPolicies {
	out := TaintPolicies{keys: sets.Set[string]{}, silence: sets.Set[string]{}}
	ordered := make([]*policyv1alpha1.ClusterTaintPolicy, len(list))
	for i := range list {
		ordered[i] = &list[i]
	}
	slices.SortFunc(ordered, selector.TaintOrder)
	for _, p := range ordered {
		var keys []string
		for _, t := range p.Spec.Taints {
			if t.Effect == corev1.TaintEffectNoExecute {
				keys = append(keys, t.Key)
			}
		}
		out.keys.Insert(keys...) // of one that is being deleted, too: its taints stay
		if slices.ContainsFunc(p.Spec.AddOnConditions, notReady) {
			out.silence.Insert(keys...)
		}
		matcher, err := selector.CompileCluster(p.Spec.TargetClusters)
		if err == nil && len(keys) > 0 && p.DeletionTimestamp.IsZero() {
			out.policies = append(out.policies, taintPolicy{spec: &p.Spec, matcher: matcher, keys: keys})
		}
	}
	return out
}

// Keys are those of the taints that policies put on clusters: others were put there by
// people.
func (p TaintPolicies) Keys() sets.Set[string] { return p.keys }

// BySilence are the keys of those that they put on clusters that are not Ready.
func (p TaintPolicies) BySilence() sets.Set[string] { return p.silence }

// notReady says whether a condition does not hold of a cluster that is Ready.
func notReady(m policyv1alpha1.MatchCondition) bool {
	return m.ConditionType == clusterv1alpha1.ClusterReady &&
		(m.Operator == policyv1alpha1.MatchConditionIn) != slices.Contains(m.StatusValues, metav1.ConditionTrue)
}

// Expiring returns the keys of the taints that are about to go from a cluster.
func (p TaintPolicies) Expiring(c *clusterv1alpha1.Cluster) sets.Set[string] {
	out := sets.Set[string]{}
	for i := range p.policies {
		one := &p.policies[i]
		if !one.matcher.Matches(c) {
			continue
		}
		switch selector.TaintChangeOf(one.spec, c.Status.Conditions) {
		case selector.RemoveTaints:
			out.Insert(one.keys...)
		case selector.AddTaints:
			out.Delete(one.keys...)
		case selector.KeepTaints:
		}
	}
	return out
}
