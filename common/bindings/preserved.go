package bindings

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Preserved returns whether the object of a binding stays in a cluster that it leaves: if the binding preserves it
// or, for an object without a policy, if a workload that needs it in that cluster is or was preserved.
func Preserved(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	if staysEverywhere(spec) {
		return true
	}
	for name := range staysIn(spec) {
		if name == cluster {
			return true
		}
	}
	return false
}

// Preserving returns Preserved as a function, for callers that ask about many clusters.
func Preserving(spec *workv1alpha2.ResourceBindingSpec) func(cluster string) bool {
	if staysEverywhere(spec) {
		return func(string) bool { return true }
	}
	return sets.New(slices.Collect(staysIn(spec))...).Has
}

// staysEverywhere returns whether an object stays in every cluster that it leaves. An older hub, or a person who
// wrote the binding by hand, did not record for which workload it is preserved: then it stays in too many clusters
// rather than too few.
func staysEverywhere(spec *workv1alpha2.ResourceBindingSpec) bool {
	if !ptr.Deref(spec.PreserveResourcesOnDeletion, false) {
		return false
	}
	preserves := false
	for i := range spec.RequiredBy {
		says := spec.RequiredBy[i].Preserve
		if says == nil {
			return true
		}
		preserves = preserves || *says
	}
	return spec.Placement != nil || !preserves
}

// staysIn returns the clusters in which an object stays, if it does not stay everywhere.
func staysIn(spec *workv1alpha2.ResourceBindingSpec) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, cluster := range spec.PreservedIn {
			if !yield(cluster) {
				return
			}
		}
		if !ptr.Deref(spec.PreserveResourcesOnDeletion, false) {
			return
		}
		for i := range spec.RequiredBy {
			if !ptr.Deref(spec.RequiredBy[i].Preserve, false) {
				continue
			}
			for j := range spec.RequiredBy[i].Clusters {
				if !yield(spec.RequiredBy[i].Clusters[j].Name) {
					return
				}
			}
		}
	}
}
