package attach

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Label returns the label that a binding has because another binding's workload needs its object.
func Label(namespace, name string) string {
	if namespace == "" {
		return contract.DependedByLabelPrefix + contract.Hash(name)
	}
	return contract.DependedByLabelPrefix + contract.Hash(namespace+"/"+name)
}

// To attaches a binding, new or read, to the binding of a workload that needs its object. If a policy selects the object, the template and
// the options stay as the policy has them. The id is used if the binding has none.
func To(b workv1alpha2.Binding, kind schema.GroupVersionKind, obj metav1.Object, independent workv1alpha2.Binding, id string) {
	unpack(b.BindingSpec())
	describe(b, kind, obj, id)
	labels := maps.Clone(b.GetLabels())
	labels[Label(independent.GetNamespace(), independent.GetName())] = independent.GetLabels()[bindings.IDLabel(independent.GetNamespace())]
	b.SetLabels(labels)
	setSnapshot(b.BindingSpec(), workv1alpha2.BindingSnapshot{
		Namespace: independent.GetNamespace(), Name: independent.GetName(), Clusters: targets(sets.List(ClustersOf(independent.BindingSpec()))),
	})
}

// ToContents attaches the binding of a namespace to everything in the namespace: to these clusters, and to those existing ones where it has
// been before. It never leaves an existing cluster, because objects that the member itself has in the namespace would be deleted with it.
func ToContents(
	b workv1alpha2.Binding, kind schema.GroupVersionKind, namespace metav1.Object, clusters sets.Set[string], there func(cluster string) bool, id string,
) {
	describe(b, kind, namespace, id)
	all := clusters.Clone()
	for _, s := range b.BindingSpec().RequiredBy {
		if s.Namespace == namespace.GetName() && s.Name == "" {
			for _, target := range s.Clusters {
				if !all.Has(target.Name) && there(target.Name) {
					all.Insert(target.Name)
				}
			}
		}
	}
	setSnapshot(b.BindingSpec(), workv1alpha2.BindingSnapshot{Namespace: namespace.GetName(), Clusters: targets(sets.List(all))})
}

// describe writes which object a binding is for.
func describe(b workv1alpha2.Binding, kind schema.GroupVersionKind, obj metav1.Object, id string) {
	if !Selected(b) {
		b.BindingSpec().Resource = bindings.ReferTo(kind, obj)
		bindings.OwnedBy(b, kind, obj)
	}
	bindings.NameAfter(b, kind, obj)
	bindings.Identify(b, id)
}

// ClustersOf returns the clusters where a workload is. A cluster from which it is being evicted gracefully counts, because the old copy
// still needs its dependencies.
func ClustersOf(spec *workv1alpha2.ResourceBindingSpec) sets.Set[string] {
	out := sets.Set[string]{}
	for i := range spec.Clusters {
		out.Insert(spec.Clusters[i].Name)
	}
	for i := range spec.GracefulEvictionTasks {
		if task := &spec.GracefulEvictionTasks[i]; task.PurgeMode.Canonical() != policyv1alpha1.PurgeDirectly {
			out.Insert(task.FromCluster)
		}
	}
	return out
}

// targets returns clusters without replicas, since a dependency goes to each cluster as a whole.
func targets(names []string) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, 0, len(names))
	for _, name := range names {
		out = append(out, workv1alpha2.TargetCluster{Name: name})
	}
	return out
}

func setSnapshot(spec *workv1alpha2.ResourceBindingSpec, s workv1alpha2.BindingSnapshot) {
	required := slices.DeleteFunc(slices.Clone(spec.RequiredBy), func(other workv1alpha2.BindingSnapshot) bool {
		return other.Namespace == s.Namespace && other.Name == s.Name
	})
	required = append(required, s)
	slices.SortFunc(required, byName)
	spec.RequiredBy = required
}

func byName(a, b workv1alpha2.BindingSnapshot) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Places returns the clusters where another workload needs a binding.
func Places(b workv1alpha2.Binding, independent types.NamespacedName) sets.Set[string] {
	out := sets.Set[string]{}
	for _, s := range bindings.Snapshots(b.BindingSpec()) {
		if s.Namespace == independent.Namespace && s.Name == independent.Name {
			for _, target := range s.Clusters {
				out.Insert(target.Name)
			}
		}
	}
	return out
}

// Names returns whether a binding names a workload that needs its object, in any clusters.
func Names(b workv1alpha2.Binding, independent types.NamespacedName) bool {
	return slices.ContainsFunc(b.BindingSpec().RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace == independent.Namespace && s.Name == independent.Name
	})
}

// OnlyFor returns whether a binding is needed by one workload only. Without that workload it must be deleted, with its objects in the
// members.
func OnlyFor(b workv1alpha2.Binding, independent types.NamespacedName) bool {
	return !Selected(b) && !slices.ContainsFunc(bindings.Snapshots(b.BindingSpec()), func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace != independent.Namespace || s.Name != independent.Name
	})
}

// Detach removes from a binding everything that is there because a workload needs its object.
func Detach(b workv1alpha2.Binding, independent types.NamespacedName) {
	labels := maps.Clone(b.GetLabels())
	delete(labels, Label(independent.Namespace, independent.Name))
	b.SetLabels(labels)
	spec := b.BindingSpec()
	unpack(spec)
	spec.RequiredBy = slices.DeleteFunc(slices.Clone(spec.RequiredBy), func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace == independent.Namespace && s.Name == independent.Name
	})
	if len(spec.RequiredBy) == 0 {
		spec.RequiredBy = nil
	}
}

// Selected returns whether a policy selects the object of a binding, or did so before.
func Selected(b workv1alpha2.Binding) bool { return b.BindingSpec().Placement != nil }
