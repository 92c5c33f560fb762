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

// TaintPolicies are the compiled policies that add NoExecute taints to clusters. They tell which taints they add, and
// which of these are about to be removed since their condition no longer holds. A cluster that is back is Ready before
// its taints are removed, and nothing should be moved in between.
type TaintPolicies struct {
	policies []taintPolicy
	keys     sets.Set[string]
	silence  sets.Set[string]
}

type taintPolicy struct {
	selector.TaintPolicy
	keys []string
}

// CompileTaintPolicies compiles policies. An invalid one has no effect.
func CompileTaintPolicies(list []policyv1alpha1.ClusterTaintPolicy) TaintPolicies {
	out := TaintPolicies{keys: sets.Set[string]{}, silence: sets.Set[string]{}}
	for i := range list { // including those that are being deleted: their taints stay
		keys := evicting(&list[i].Spec)
		out.keys.Insert(keys...)
		if slices.ContainsFunc(list[i].Spec.AddOnConditions, notReady) {
			out.silence.Insert(keys...)
		}
	}
	policies, _ := selector.CompileTaintPolicies(list)
	for _, p := range policies {
		if keys := evicting(&p.Policy.Spec); len(keys) > 0 {
			out.policies = append(out.policies, taintPolicy{TaintPolicy: p, keys: keys})
		}
	}
	return out
}

// evicting returns the keys of a policy's NoExecute taints.
func evicting(spec *policyv1alpha1.ClusterTaintPolicySpec) []string {
	var keys []string
	for _, t := range spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// Keys returns the keys of the taints that policies add. All others were added by people.
func (p TaintPolicies) Keys() sets.Set[string] { return p.keys }

// BySilence returns the keys of those that policies add to clusters that are not Ready.
func (p TaintPolicies) BySilence() sets.Set[string] { return p.silence }

// notReady says whether a condition matches only clusters that are not Ready.
func notReady(m policyv1alpha1.MatchCondition) bool {
	return m.ConditionType == clusterv1alpha1.ClusterReady &&
		(m.Operator == policyv1alpha1.MatchConditionIn) != slices.Contains(m.StatusValues, metav1.ConditionTrue)
}

// Expiring returns the keys of the taints that are about to be removed from a cluster.
func (p TaintPolicies) Expiring(c *clusterv1alpha1.Cluster) sets.Set[string] {
	out := sets.Set[string]{}
	for i := range p.policies {
		one := &p.policies[i]
		switch one.Change(c, c.Status.Conditions) {
		case selector.RemoveTaints:
			out.Insert(one.keys...)
		case selector.AddTaints:
			out.Delete(one.keys...)
		case selector.KeepTaints:
		}
	}
	return out
}
