package fit

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// api keeps an application out of clusters that do not serve its kind in its version. One that has the application loses it only if it
// serves the kind in no version: when an operator was upgraded there and dropped the version, the objects are still there, and whoever
// leaves the cluster deletes them. The application stays, and its Work says that the version is not served.
func api(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.APIPending.Has(c.Name) {
		return ""
	}
	target := q.Targets.Has(c.Name)
	// What a target reports may be incomplete for a while; only a complete list says
	// that it lost the API.
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

// ListsAllAPIs says whether what a cluster does not list it does not serve.
func ListsAllAPIs(c *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterCompleteAPIEnablements)
}

// Kinds returns the kinds that a cluster serves in any version. An application of one of them keeps the cluster, whether that
// lists all of its APIs or not.
func Kinds(c *clusterv1alpha1.Cluster) sets.Set[schema.GroupKind] {
	out := sets.Set[schema.GroupKind]{}
	for served := range versionsOf(c) {
		out.Insert(served.GroupKind())
	}
	return out
}

// ChangedKinds returns the kinds that a cluster serves in other versions than before, in none any more, or anew. To applications of all
// other kinds the filter says what it said before, but for what depends on whether the cluster lists all of its APIs.
func ChangedKinds(before, after *clusterv1alpha1.Cluster) sets.Set[schema.GroupKind] {
	out, was, is := sets.Set[schema.GroupKind]{}, versionsOf(before), versionsOf(after)
	for served := range was.SymmetricDifference(is) {
		out.Insert(served.GroupKind())
	}
	return out
}

// versionsOf returns the kinds that a cluster serves, in each of their versions.
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
