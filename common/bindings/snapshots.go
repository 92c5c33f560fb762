package bindings

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Snapshots returns the bindings whose workloads need the object of a binding, each with all of its clusters.
// Clusters that several of them share are stored once, in an entry without a name, which is not returned. An older
// hub, which does not know such entries, drops the references to them when it writes: then it is not known where a
// workload is, and it is assumed to be wherever such entries say. The result must not be changed.
//
// A caller that only needs to know where the object should be can use the stored entries directly, since those
// without a name list clusters as well.
func Snapshots(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.BindingSnapshot {
	if !SharesClusters(spec) {
		return spec.RequiredBy
	}
	lists := map[string][]workv1alpha2.TargetCluster{ClustersHash(nil): nil}
	anywhere := map[string][]workv1alpha2.TargetCluster{}
	for i := range spec.RequiredBy {
		if s := &spec.RequiredBy[i]; s.Name == "" {
			lists[ClustersHash(s.Clusters)] = s.Clusters
			anywhere[s.Namespace] = union(anywhere[s.Namespace], s.Clusters)
		}
	}
	out := make([]workv1alpha2.BindingSnapshot, 0, len(spec.RequiredBy))
	for _, s := range spec.RequiredBy {
		if s.Name == "" {
			continue
		}
		if len(s.Clusters) == 0 {
			shared, known := lists[s.SharedClusters]
			if !known {
				shared = anywhere[s.Namespace]
			}
			s.Clusters = shared
		}
		s.SharedClusters = ""
		out = append(out, s)
	}
	return out
}

// SharesClusters returns whether a binding stores clusters once for several bindings that need it. On a Namespace's
// binding, the entry without a name stands for everything in the Namespace instead.
func SharesClusters(spec *workv1alpha2.ResourceBindingSpec) bool {
	return !IsNamespace(spec) && slices.ContainsFunc(spec.RequiredBy, func(s workv1alpha2.BindingSnapshot) bool { return s.Name == "" })
}

// IsNamespace returns whether a binding is that of a Namespace.
func IsNamespace(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Resource.Kind == "Namespace" && spec.Resource.APIVersion == corev1.SchemeGroupVersion.String()
}

// ClustersHash returns a hash of the clusters' names, in this order and without their shares.
func ClustersHash(clusters []workv1alpha2.TargetCluster) string {
	const length = 8 // bytes, enough to tell the few lists of a binding apart
	h := sha256.New()
	for i := range clusters {
		_, _ = h.Write([]byte(clusters[i].Name + "\n")) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:length])
}

// union returns the clusters of two lists.
func union(a, b []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	if len(a) == 0 {
		return b
	}
	return Targets(&workv1alpha2.ResourceBindingSpec{Clusters: a, RequiredBy: []workv1alpha2.BindingSnapshot{{Clusters: b}}})
}
