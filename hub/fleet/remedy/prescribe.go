package remedy

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	remedyv1alpha1 "fairlead.dev/common/api/remedy/v1alpha1"
)

// prescription is what the Remedies ask for about one cluster.
type prescription struct {
	// Actions are the actions, sorted, each once.
	Actions []string
	// By has the names of the Remedies that ask for them, sorted.
	By []string
}

// prescribe returns the actions that Remedies ask for in a cluster's present condition.
func prescribe(c *clusterv1alpha1.Cluster, remedies []remedyv1alpha1.Remedy) prescription {
	var p prescription
	for i := range remedies {
		r := &remedies[i]
		if len(r.Spec.Actions) == 0 || !r.DeletionTimestamp.IsZero() || !selects(&r.Spec, c.Name) || !matches(&r.Spec, c) {
			continue
		}
		p.By = append(p.By, r.Name)
		for _, action := range r.Spec.Actions {
			p.Actions = append(p.Actions, string(action))
		}
	}
	slices.Sort(p.By)
	slices.Sort(p.Actions)
	p.Actions = slices.Compact(p.Actions)
	return p
}

// selects says whether a Remedy applies to a cluster of this name; one without an affinity applies to all.
func selects(r *remedyv1alpha1.RemedySpec, cluster string) bool {
	return r.ClusterAffinity == nil || slices.Contains(r.ClusterAffinity.ClusterNames, cluster)
}

// matches says whether a cluster meets one of a Remedy's condition matches. If they are nil, every cluster does; if the
// list is empty, none does.
func matches(r *remedyv1alpha1.RemedySpec, c *clusterv1alpha1.Cluster) bool {
	if r.DecisionMatches == nil {
		return true
	}
	return slices.ContainsFunc(r.DecisionMatches, func(m remedyv1alpha1.DecisionMatch) bool {
		if m.ClusterConditionMatch == nil {
			return false
		}
		condition := meta.FindStatusCondition(c.Status.Conditions, m.ClusterConditionMatch.ConditionType)
		if condition == nil {
			return false // an unknown condition matches nothing
		}
		same := string(condition.Status) == m.ClusterConditionMatch.ConditionStatus
		return same == (m.ClusterConditionMatch.Operator == remedyv1alpha1.ClusterConditionEqual)
	})
}
