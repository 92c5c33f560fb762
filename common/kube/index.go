package kube

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Names of the indexes of a hub's cache.
const (
	// worksByBinding has Works by a part of the permanent id of their binding: see WorksOf.
	worksByBinding = "binding-permanent-id"
	// bindingsByCluster has bindings by every cluster that they name: see BindingKind.Naming.
	bindingsByCluster = "clusters"
	// bindingsByRequirer has bindings by every binding whose workload needs their object: see BindingKind.NeededBy.
	bindingsByRequirer = "required-by"
	// bindingsByWait has bindings by the reason why they are not placed: see BindingKind.Waiting.
	bindingsByWait = "waits"
	// bindingsByKind has bindings by the kind of their template, in whatever version: see BindingKind.OfKind.
	bindingsByKind = "template-kind"
	// bindingsByGroup has bindings by every affinity group that they are in: see BindingKind.Peers.
	bindingsByGroup = "affinity-groups"
	// anyReason stands there for whatever reason.
	anyReason = "*"
)

// workShards is over how many values of its index the Works are spread. A value for each binding would be a map for each, in which
// there is one Work: that took more memory than a third of the Work. Of a value that has some tens of Works those of a binding are
// found as fast.
const workShards = 1 << 12

// Index adds to a cache the indexes by which the stages of a hub find what a change concerns,
// without looking at everything there is. It is called once, before the cache starts.
func Index(ctx context.Context, c Informed) error {
	err := addIndex(ctx, c, &workv1alpha1.Work{}, worksByBinding, func(obj client.Object) []string {
		if id := bindings.IDOf(obj); id != "" {
			return []string{shardOf(id)}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing works by binding: %w", err)
	}
	for _, kind := range []BindingKind{ResourceBindings(), ClusterResourceBindings()} {
		if err := addIndex(ctx, c, kind.New(), bindingsByCluster, clustersNamed); err != nil {
			return fmt.Errorf("indexing %ss by cluster: %w", kind.Kind, err)
		}
		if err := addIndex(ctx, c, kind.New(), bindingsByRequirer, requirers); err != nil {
			return fmt.Errorf("indexing %ss by what needs them: %w", kind.Kind, err)
		}
		if err := addIndex(ctx, c, kind.New(), bindingsByWait, waitsFor); err != nil {
			return fmt.Errorf("indexing %ss by what they wait for: %w", kind.Kind, err)
		}
		if err := addIndex(ctx, c, kind.New(), bindingsByKind, kindOfTemplate); err != nil {
			return fmt.Errorf("indexing %ss by the kind of their template: %w", kind.Kind, err)
		}
		if err := addIndex(ctx, c, kind.New(), bindingsByGroup, groupsOf); err != nil {
			return fmt.Errorf("indexing %ss by affinity group: %w", kind.Kind, err)
		}
	}
	return nil
}

// shardOf is the value of the index for the Works of a binding.
func shardOf(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return strconv.FormatUint(uint64(h.Sum32()%workShards), 16)
}

// clustersNamed returns every cluster that a binding names: where it is to be or was required, what
// it leaves, and what it shows a status of.
func clustersNamed(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	names := sets.Set[string]{}
	spec := b.BindingSpec()
	for i := range spec.Clusters {
		names.Insert(spec.Clusters[i].Name)
	}
	for i := range spec.RequiredBy {
		for j := range spec.RequiredBy[i].Clusters {
			names.Insert(spec.RequiredBy[i].Clusters[j].Name)
		}
	}
	for i := range spec.GracefulEvictionTasks {
		names.Insert(spec.GracefulEvictionTasks[i].FromCluster)
	}
	for i := range b.BindingStatus().AggregatedStatus {
		names.Insert(b.BindingStatus().AggregatedStatus[i].ClusterName)
	}
	return names.UnsortedList()
}

// requirers names the bindings whose workloads need the object of a binding.
func requirers(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	var out []string
	for _, by := range bindings.Requirers(b) {
		out = append(out, by.String())
	}
	return out
}

// waitsFor returns why the scheduler has not placed a binding, as its condition says.
func waitsFor(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	c := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingScheduled)
	if c == nil || c.Status == metav1.ConditionTrue {
		return nil
	}
	return []string{c.Reason, anyReason}
}

// kindOfTemplate returns the kind of the template of a binding.
func kindOfTemplate(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	template := &b.BindingSpec().Resource
	return []string{schema.FromAPIVersionAndKind(template.APIVersion, template.Kind).GroupKind().String()}
}

// groupsOf returns the affinity groups of a binding. A group is of one namespace, and one that stays together is not one that stays apart,
// though they have the same name.
func groupsOf(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok || b.BindingSpec().WorkloadAffinityGroups == nil {
		return nil
	}
	var out []string
	groups := b.BindingSpec().WorkloadAffinityGroups
	if groups.AffinityGroup != "" {
		out = append(out, b.GetNamespace()+"/together/"+groups.AffinityGroup)
	}
	if groups.AntiAffinityGroup != "" {
		out = append(out, b.GetNamespace()+"/apart/"+groups.AntiAffinityGroup)
	}
	return out
}

// Naming returns the bindings of the kind that name a cluster in their spec or status, to be read
// and not to be changed. From a cache, which must have the indexes of Index, that takes as long as
// there are such bindings; any other reader reads all of them.
func (k BindingKind) Naming(ctx context.Context, r client.Reader, cluster string) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByCluster, cluster, clustersNamed)
}

// NeededBy returns the bindings of the kind, in any namespace, whose objects the workload of a binding needs, likewise.
func (k BindingKind) NeededBy(ctx context.Context, r client.Reader, by types.NamespacedName) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByRequirer, by.String(), requirers)
}

// Waiting returns the bindings of the kind that are shown as not placed for a reason; for any, if it is empty; likewise.
func (k BindingKind) Waiting(ctx context.Context, r client.Reader, reason string) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByWait, cmp.Or(reason, anyReason), waitsFor)
}

// OfKind returns the bindings of the kind whose templates are of a kind, in whatever version, likewise.
func (k BindingKind) OfKind(ctx context.Context, r client.Reader, template schema.GroupKind) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByKind, template.String(), kindOfTemplate)
}

// Peers returns the bindings of the kind that are in an affinity group of a binding, without itself, by name; likewise.
func (k BindingKind) Peers(ctx context.Context, r client.Reader, of Binding) ([]Binding, error) {
	var out []Binding
	for _, group := range groupsOf(of) {
		members, err := k.indexed(ctx, r, bindingsByGroup, group, groupsOf)
		if err != nil {
			return nil, err
		}
		out = append(out, members...)
	}
	out = slices.DeleteFunc(out, func(b Binding) bool { return b.GetName() == of.GetName() })
	slices.SortFunc(out, func(a, b Binding) int { return strings.Compare(a.GetName(), b.GetName()) })
	return slices.CompactFunc(out, func(a, b Binding) bool { return a.GetName() == b.GetName() }), nil // one may be in both groups
}

// indexed returns the bindings that have a value in an index, whose values are those of a function.
func (k BindingKind) indexed(ctx context.Context, r client.Reader, index, value string, values client.IndexerFunc) ([]Binding, error) {
	if found, ok := underIndex(ctx, r, k.New(), index, value); ok {
		out := make([]Binding, 0, len(found))
		for _, item := range found {
			if b, ok := item.(Binding); ok {
				out = append(out, b)
			}
		}
		return out, nil
	}
	all, err := k.List(ctx, r)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(b Binding) bool { return !slices.Contains(values(b), value) }), nil
}
