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
	// maxListed is how long all lists of the clusters of workloads may be on a binding, in bytes, before those that are alike become
	// one. An object may have about 1.5 MB, of which the status takes most.
	maxListed = 128 << 10
	// minShared is how many clusters are worth a list of their own.
	minShared = 8
	// sizeOfTarget is what a cluster takes in a list, beside its name.
	sizeOfTarget = len(`{"name":""},`)
)

// group are workloads of one namespace with the same clusters and the same word on what is preserved.
type group struct {
	namespace, clusters, preserve string
}

func (g group) compare(other group) int {
	return cmp.Or(strings.Compare(g.namespace, other.namespace), strings.Compare(g.clusters, other.clusters), strings.Compare(g.preserve, other.preserve))
}

// groups finds the group of each workload. What was unpacked is one list in memory, of which the hash is made once.
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

// Pack has a binding list the clusters once that several workloads have alike, if the lists of all would be too long. They are in entries
// without a name, of which To, Detach and PreserveAsLast make full lists again. A hub of before, which may lead for a while in between, takes such an
// entry for clusters where the object is to be, and leaves it alone when a workload moves or goes: nothing is taken from a cluster by
// mistake. That goes for what is preserved and for what is another namespace's as well, since an entry is for workloads that are alike
// in both. Of the workloads whose changes go out in waves the first has its own list nevertheless: by that one such a hub keeps to the waves.
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
	slices.SortFunc(required, byName) // so that the first is the same each time
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

// unpack writes of each workload that needs a binding all its clusters.
func unpack(spec *workv1alpha2.ResourceBindingSpec) {
	if bindings.SharesClusters(spec) {
		spec.RequiredBy = bindings.Snapshots(spec)
	}
}

// Abandoned says whether a binding has clusters of workloads none of which needs it any more: a hub of before leaves them behind.
func Abandoned(b workv1alpha2.Binding) bool {
	return bindings.SharesClusters(b.BindingSpec()) && len(bindings.Requirers(b)) == 0
}

// Abandon takes off what Abandoned finds.
func Abandon(b workv1alpha2.Binding) { b.BindingSpec().RequiredBy = nil }

// divided says whether a cluster has a share, which none has that this stage writes.
func divided(target workv1alpha2.TargetCluster) bool {
	return target.Replicas != 0 || len(target.Components) > 0
}

// listed is how long the lists of clusters of workloads are, in bytes.
func listed(spec *workv1alpha2.ResourceBindingSpec) int {
	total := 0
	for i := range spec.RequiredBy {
		for j := range spec.RequiredBy[i].Clusters {
			total += len(spec.RequiredBy[i].Clusters[j].Name) + sizeOfTarget
		}
	}
	return total
}
