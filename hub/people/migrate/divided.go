package migrate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
)

// unready says whether the scheduler skips a cluster at present.
func unready(c *clusterv1alpha1.Cluster) bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	return ready != nil && ready.Status != metav1.ConditionTrue || slices.ContainsFunc(c.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == contract.TaintClusterNotReady || t.Key == contract.TaintClusterUnreachable
	})
}

// misdivided returns the clusters that would not get their share of the replicas that a policy divides; empty if all
// do.
func (a *applier) misdivided(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	if a.placed || gvk.Group != policyv1alpha1.GroupVersion.Group ||
		gvk.Kind != policyv1alpha1.KindPropagationPolicy && gvk.Kind != policyv1alpha1.KindClusterPropagationPolicy {
		return ""
	}
	var p policyv1alpha1.PropagationPolicy // both kinds have the same spec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &p); err != nil {
		return fmt.Sprintf("it cannot be read: %v", err)
	}
	placement := &p.Spec.Placement
	if how := placement.ReplicaScheduling; how == nil || how.ReplicaSchedulingType != policyv1alpha1.Divided {
		return ""
	}
	if groups := placement.ClusterAffinities; len(groups) > 0 {
		first := *placement // the scheduler tries the first group first; whether it gets to the others is unknown
		first.ClusterAffinity = &groups[0].ClusterAffinity
		placement = &first
	}
	var absent, silent []string
	for _, name := range namedClusters(placement) {
		if !slices.Contains(a.clusters, name) {
			absent = append(absent, name)
		}
	}
	for _, c := range a.unready {
		if shares(placement, c) {
			silent = append(silent, c.Name)
		}
	}
	var why []string
	if len(absent) > 0 {
		why = append(why, strings.Join(absent, ", ")+" did not join yet")
	}
	if len(silent) > 0 {
		slices.Sort(silent)
		why = append(why, strings.Join(silent, ", ")+" is not Ready")
	}
	if len(why) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.placement: %s, so the hub would give its replicas to the other clusters, while it keeps running its own; apply when all clusters are there",
		strings.Join(why, " and "))
}

// namedClusters returns the names of the clusters among which replicas are divided. Clusters that a selector matches
// are not included: of a cluster that never joined, the labels are unknown.
func namedClusters(p *policyv1alpha1.Placement) []string {
	var out []string
	if p.ClusterAffinity != nil {
		out = append(out, p.ClusterAffinity.ClusterNames...)
	}
	if len(out) == 0 {
		for _, w := range weights(p) {
			out = append(out, w.TargetCluster.ClusterNames...)
		}
	}
	out = slices.DeleteFunc(out, func(name string) bool {
		return p.ClusterAffinity != nil && slices.Contains(p.ClusterAffinity.ExcludeClusters, name)
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// shares says whether a cluster gets any replicas: with static weights, those that no element matches get none.
func shares(p *policyv1alpha1.Placement, c *clusterv1alpha1.Cluster) bool {
	list := weights(p)
	return selector.Cluster(p.ClusterAffinity, c) && (len(list) == 0 || slices.ContainsFunc(list, func(w policyv1alpha1.StaticClusterWeight) bool {
		return selector.Cluster(&w.TargetCluster, c)
	}))
}

// weights returns the static weights; none if replicas are divided by capacity, which takes precedence.
func weights(p *policyv1alpha1.Placement) []policyv1alpha1.StaticClusterWeight {
	how := p.ReplicaScheduling
	if how.WeightPreference == nil || how.WeightPreference.DynamicWeight != "" || how.ReplicaDivisionPreference == policyv1alpha1.Aggregated {
		return nil
	}
	return how.WeightPreference.StaticWeightList
}
