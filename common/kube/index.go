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

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Names of the indexes in a hub's cache.
const (
	// worksByBinding indexes Works by a part of the permanent id of their binding: see WorksOf.
	worksByBinding = "binding-permanent-id"
	// bindingsByCluster indexes bindings by every cluster that they name: see BindingKind.Naming.
	bindingsByCluster = "clusters"
	// bindingsByRequirer indexes bindings by every binding whose workload needs their object: see BindingKind.NeededBy.
	bindingsByRequirer = "required-by"
	// bindingsByWait indexes bindings by the reason why they are not scheduled: see BindingKind.Waiting.
	bindingsByWait = "waits"
	// bindingsByKind indexes bindings by the kind of their template, in any version: see BindingKind.OfKind.
	bindingsByKind = "template-kind"
	// bindingsByGroup indexes bindings by each of their affinity groups: see BindingKind.Peers.
	bindingsByGroup = "affinity-groups"
	// overridesBySelection indexes override policies by each of their selectors, without labels: see
	// OverridePolicies.
	overridesBySelection = "selection"
	// anyReason is the value in bindingsByWait for every reason.
	anyReason = "*"
)

// workShards is the number of values in the index of Works. A value per binding would cost a map with one Work each:
// more than a third of the memory of the Work. With some tens of Works per value, those of one binding are found as
// fast.
const workShards = 1 << 12

// Index adds the indexes with which the stages of a hub find the objects that a change affects. It is called once,
// before the cache starts.
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
	for _, policy := range []client.Object{&policyv1alpha1.ClusterOverridePolicy{}, &policyv1alpha1.OverridePolicy{}} {
		if err := addIndex(ctx, c, policy, overridesBySelection, selectionsOf); err != nil {
			return fmt.Errorf("indexing override policies by what they select: %w", err)
		}
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

// shardOf returns the index value for the Works of a binding.
func shardOf(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return strconv.FormatUint(uint64(h.Sum32()%workShards), 16)
}

// clustersNamed returns every cluster that a binding names: its targets, the clusters that require it, those that it is being evicted from,
// and those in its status.
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

// requirers returns the bindings whose workloads need the object of a binding.
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

// waitsFor returns the reason of a binding's condition Scheduled if it is not scheduled.
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

// kindOfTemplate returns the kind of a binding's template.
func kindOfTemplate(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	template := &b.BindingSpec().Resource
	return []string{schema.FromAPIVersionAndKind(template.APIVersion, template.Kind).GroupKind().String()}
}

// groupsOf returns the affinity groups of a binding, as index values. Groups of different namespaces differ, and so
// do an affinity and an anti-affinity group of the same name.
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

// Naming returns the bindings of the kind that name a cluster in their spec or status. They must not be changed. From
// a cache with the indexes of Index, this takes time in proportion to the result; from any other reader all bindings
// are read.
func (k BindingKind) Naming(ctx context.Context, r client.Reader, cluster string) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByCluster, cluster, clustersNamed)
}

// NeededBy returns the bindings of the kind, in any namespace, whose objects the workload of a binding needs. See Naming for the cost.
func (k BindingKind) NeededBy(ctx context.Context, r client.Reader, by types.NamespacedName) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByRequirer, by.String(), requirers)
}

// Waiting returns the bindings of the kind that are not scheduled for a reason; an empty reason means any. See Naming
// for the cost.
func (k BindingKind) Waiting(ctx context.Context, r client.Reader, reason string) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByWait, cmp.Or(reason, anyReason), waitsFor)
}

// OfKind returns the bindings of the kind whose templates are of a kind, in any version. See Naming for the cost.
func (k BindingKind) OfKind(ctx context.Context, r client.Reader, template schema.GroupKind) ([]Binding, error) {
	return k.indexed(ctx, r, bindingsByKind, template.String(), kindOfTemplate)
}

// Peers returns the other bindings of the kind that share an affinity group with a binding, by name. See Naming for the cost.
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

// indexed returns the bindings with a value in an index. values computes the index for readers without it.
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
