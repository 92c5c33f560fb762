package attach

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

const (
	// maxListed is how long the lists of clusters of all workloads may be on a binding, in bytes, before equal lists are merged. An object
	// may have about 1.5 MB, of which the status takes most.
	maxListed = 128 << 10
	// minShared is the least number of clusters for which lists are merged.
	minShared = 8
	// sizeOfTarget is the size of a cluster in a list, besides its name.
	sizeOfTarget = len(`{"name":""},`)
)

// group is the workloads of one namespace with the same clusters and the same preservation.
type group struct {
	namespace, clusters, preserve string
}

func (g group) compare(other group) int {
	return cmp.Or(strings.Compare(g.namespace, other.namespace), strings.Compare(g.clusters, other.clusters), strings.Compare(g.preserve, other.preserve))
}

// groups returns the group of each workload. Unpacked workloads share one list in memory, of which the hash is computed only once.
type groups map[*workv1alpha2.TargetCluster]string

func (g groups) of(s *workv1alpha2.BindingSnapshot) group {
	out, list := group{namespace: s.Namespace}, &s.Clusters[0]
	if g[list] == "" {
		g[list] = bindings.ClustersHash(s.Clusters)
	}
	out.clusters = g[list]
	if s.Preserve != nil {
		out.preserve = strconv.FormatBool(*s.Preserve)
	}
	return out
}

// Pack lists clusters that several workloads have in common only once, if the separate lists would be too long together. The common lists
// are entries without a name; To, Detach and PreserveAsLast expand them again. An earlier version of the hub, which may be active for a
// while in between, takes such an entry for clusters where the object must be, and keeps it when a workload moves or is deleted, so nothing
// is removed from a cluster by mistake. That also holds for preservation and for dependencies in other namespaces, since an entry is for
// workloads that agree in both. Of the workloads that are rolled out in waves, the first keeps its own list, by which such a hub follows
// the waves.
func Pack(b workv1alpha2.Binding, referrers []workv1alpha2.Binding) {
	spec := b.BindingSpec()
	if bindings.IsNamespace(spec) || listed(spec) <= maxListed {
		return
	}
	atOnce := sets.Set[types.NamespacedName]{}
	for _, r := range referrers {
		if !bindings.IsStaged(r) {
			atOnce.Insert(types.NamespacedName{Namespace: r.GetNamespace(), Name: r.GetName()})
		}
	}
	required := slices.Clone(spec.RequiredBy)
	slices.SortFunc(required, byName) // so that the first is always the same
	all, alike, first := groups{}, map[group][]int{}, map[group]bool{}
	for i := range required {
		s := &required[i]
		if s.Name == "" || len(s.Clusters) < minShared || slices.ContainsFunc(s.Clusters, divided) {
			continue
		}
		of := all.of(s)
		if !first[of] && !atOnce.Has(types.NamespacedName{Namespace: s.Namespace, Name: s.Name}) {
			first[of] = true
			continue
		}
		alike[of] = append(alike[of], i)
	}
	var lists []workv1alpha2.BindingSnapshot
	for _, of := range slices.SortedFunc(maps.Keys(alike), group.compare) {
		members := alike[of]
		if len(members) < 2 {
			continue
		}
		one := &required[members[0]]
		lists = append(lists, workv1alpha2.BindingSnapshot{Namespace: of.namespace, Clusters: one.Clusters, Preserve: one.Preserve})
		for _, i := range members {
			required[i].Clusters, required[i].SharedClusters = nil, of.clusters
		}
	}
	if len(lists) == 0 {
		return
	}
	for i := range required {
		if s := &required[i]; len(s.Clusters) == 0 && s.SharedClusters == "" {
			s.SharedClusters = bindings.ClustersHash(nil)
		}
	}
	spec.RequiredBy = slices.Concat(lists, required)
	slices.SortStableFunc(spec.RequiredBy, byName)
}

// unpack writes for each workload that needs a binding all of its clusters.
func unpack(spec *workv1alpha2.ResourceBindingSpec) {
	if bindings.SharesClusters(spec) {
		spec.RequiredBy = bindings.Snapshots(spec)
	}
}

// Abandoned returns whether a binding has a common list of workloads none of which needs it any more. Earlier versions of the hub leave
// such lists behind.
func Abandoned(b workv1alpha2.Binding) bool {
	return bindings.SharesClusters(b.BindingSpec()) && len(bindings.Requirers(b)) == 0
}

// Abandon removes what Abandoned finds.
func Abandon(b workv1alpha2.Binding) { b.BindingSpec().RequiredBy = nil }

// divided returns whether a cluster has a share of replicas. This stage writes none.
func divided(target workv1alpha2.TargetCluster) bool {
	return target.Replicas != 0 || len(target.Components) > 0
}

// listed returns the size of the lists of clusters of workloads, in bytes.
func listed(spec *workv1alpha2.ResourceBindingSpec) int {
	total := 0
	for i := range spec.RequiredBy {
		for j := range spec.RequiredBy[i].Clusters {
			total += len(spec.RequiredBy[i].Clusters[j].Name) + sizeOfTarget
		}
	}
	return total
}
