package fit

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// api rejects clusters that do not serve the application's kind in its version. A target is rejected only if it does not serve the kind in
// any version: if an upgraded operator dropped the version there, the objects still exist, and leaving the cluster would delete them. The
// application stays, and its Work says that the version is not served.
func api(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.APIPending.Has(c.Name) {
		return ""
	}
	target := q.Targets.Has(c.Name)
	// The APIs that a target reports may be incomplete for a while; only a complete list shows that it lost the API.
	if target && !ListsAllAPIs(c) {
		return ""
	}
	group := schema.FromAPIVersionAndKind(q.APIVersion, q.Kind).Group
	for i := range c.Status.APIEnablements {
		served := &c.Status.APIEnablements[i]
		if served.GroupVersion != q.APIVersion && (!target || schema.FromAPIVersionAndKind(served.GroupVersion, "").Group != group) {
			continue
		}
		for j := range served.Resources {
			if served.Resources[j].Kind == q.Kind {
				return ""
			}
		}
	}
	return "cluster(s) did not have the API resource"
}

// ListsAllAPIs returns whether a cluster's list of APIs is complete, so that it does not serve any other.
func ListsAllAPIs(c *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterCompleteAPIEnablements)
}

// Kinds returns the kinds that a cluster serves in any version. A target keeps applications of these kinds, whether or not its list of APIs
// is complete.
func Kinds(c *clusterv1alpha1.Cluster) sets.Set[schema.GroupKind] {
	out := sets.Set[schema.GroupKind]{}
	for served := range versionsOf(c) {
		out.Insert(served.GroupKind())
	}
	return out
}

// ChangedKinds returns the kinds of which a cluster serves other versions than before, including new and removed ones. For
// applications of all other kinds the filter's result is the same, unless it depends on whether the list of APIs is complete.
func ChangedKinds(before, after *clusterv1alpha1.Cluster) sets.Set[schema.GroupKind] {
	out, was, is := sets.Set[schema.GroupKind]{}, versionsOf(before), versionsOf(after)
	for served := range was.SymmetricDifference(is) {
		out.Insert(served.GroupKind())
	}
	return out
}

// versionsOf returns the kinds that a cluster serves, with their versions.
func versionsOf(c *clusterv1alpha1.Cluster) sets.Set[schema.GroupVersionKind] {
	out := sets.Set[schema.GroupVersionKind]{}
	for i := range c.Status.APIEnablements {
		served := &c.Status.APIEnablements[i]
		for j := range served.Resources {
			out.Insert(schema.FromAPIVersionAndKind(served.GroupVersion, served.Resources[j].Kind))
		}
	}
	return out
}
