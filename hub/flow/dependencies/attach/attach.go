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

// Label is the label that a binding carries because another one needs its object.
func Label(namespace, name string) string {
	if namespace == "" {
		return contract.DependedByLabelPrefix + contract.Hash(name)
	}
	return contract.DependedByLabelPrefix + contract.Hash(namespace+"/"+name)
}

// To has a binding, new or read, follow another one: it is the binding of an object that
// the workload of independent needs. What is selected by a policy of its own keeps its
// template and its options as the policy has them. The id is that of the binding if it
// has none.
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

// ToContents makes the binding of a namespace follow all that is in it: to these
// clusters, and to those where it has followed before. It never leaves one that is there:
// what the member has put there itself would go with it.
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

// describe says whose binding it is.
func describe(b workv1alpha2.Binding, kind schema.GroupVersionKind, obj metav1.Object, id string) {
	if !Selected(b) {
		b.BindingSpec().Resource = bindings.ReferTo(kind, obj)
		bindings.OwnedBy(b, kind, obj)
	}
	bindings.NameAfter(b, kind, obj)
	bindings.Identify(b, id)
}

// ClustersOf are the clusters where a workload is. One that it leaves in its own time keeps what the
// old copy needs.
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

// targets are clusters without replicas: what is needed is whole in each.
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

// Places are the clusters where a binding is to be because another one needs it.
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

// Names says whether a binding names another one that needs its object, in whatever clusters.
func Names(b workv1alpha2.Binding, independent types.NamespacedName) bool {
	return slices.ContainsFunc(b.BindingSpec().RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace == independent.Namespace && s.Name == independent.Name
	})
}

// OnlyFor says whether a binding is there for the sake of another one alone: without that it is to go, with what it
// brought into the members.
func OnlyFor(b workv1alpha2.Binding, independent types.NamespacedName) bool {
	return !Selected(b) && !slices.ContainsFunc(bindings.Snapshots(b.BindingSpec()), func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace != independent.Namespace || s.Name != independent.Name
	})
}

// Detach takes off a binding what is there because another one needs its object.
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

// Selected says whether a binding is also, or only, that of an object that a policy
// selects, or selected.
func Selected(b workv1alpha2.Binding) bool { return b.BindingSpec().Placement != nil }
