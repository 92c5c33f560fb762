package selector

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// TaintPolicy is a compiled ClusterTaintPolicy.
type TaintPolicy struct {
	// Policy is the policy that was compiled. It must not be modified.
	Policy  *policyv1alpha1.ClusterTaintPolicy
	matcher ClusterMatcher
}

// InvalidTaintPolicy is a policy that cannot be compiled.
type InvalidTaintPolicy struct {
	Policy *policyv1alpha1.ClusterTaintPolicy
	Err    error
}

// CompileTaintPolicies compiles policies, without those being deleted, in the order in which they act: oldest first,
// each seeing the effect of those before.
func CompileTaintPolicies(list []policyv1alpha1.ClusterTaintPolicy) ([]TaintPolicy, []InvalidTaintPolicy) {
	var out []TaintPolicy
	var invalid []InvalidTaintPolicy
	for i := range list {
		p := &list[i]
		if !p.DeletionTimestamp.IsZero() {
			continue
		}
		matcher, err := CompileCluster(p.Spec.TargetClusters)
		if err != nil {
			invalid = append(invalid, InvalidTaintPolicy{Policy: p, Err: err})
			continue
		}
		out = append(out, TaintPolicy{Policy: p, matcher: matcher})
	}
	slices.SortFunc(out, func(a, b TaintPolicy) int {
		return cmp.Or(a.Policy.CreationTimestamp.Compare(b.Policy.CreationTimestamp.Time), cmp.Compare(a.Policy.Name, b.Policy.Name))
	})
	return out, invalid
}

// TaintPolicyVersions returns a text that is the same exactly for the same versions of the same policies, in any
// order.
func TaintPolicyVersions(list []policyv1alpha1.ClusterTaintPolicy) string {
	versions := make([]string, len(list))
	for i := range list {
		versions[i] = string(list[i].UID) + "/" + list[i].ResourceVersion
	}
	slices.Sort(versions)
	return strings.Join(versions, " ")
}

// TaintChange is the effect of a ClusterTaintPolicy on a cluster.
type TaintChange int

// Values of TaintChange.
const (
	// KeepTaints leaves the taints as they are.
	KeepTaints TaintChange = iota
	// AddTaints adds the missing taints.
	AddTaints
	// RemoveTaints removes the taints, whoever set them.
	RemoveTaints
)

// Change returns what the policy does to a cluster with these conditions: nothing if it does not select the cluster.
// If its conditions for adding and for removing both hold, it removes.
func (p TaintPolicy) Change(c *clusterv1alpha1.Cluster, conditions []metav1.Condition) TaintChange {
	switch {
	case !p.matcher.Matches(c):
		return KeepTaints
	case Conditions(p.Policy.Spec.RemoveOnConditions, conditions):
		return RemoveTaints
	case Conditions(p.Policy.Spec.AddOnConditions, conditions):
		return AddTaints
	default:
		return KeepTaints
	}
}
