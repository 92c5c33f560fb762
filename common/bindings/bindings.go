package bindings

import (
	"cmp"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// IsWorkload says whether the template has replicas, also if it is scaled to none.
func IsWorkload(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Replicas > 0 || spec.ReplicaRequirements != nil
}

// Divided says whether each cluster has a share of the replicas: also of none, of a workload
// that is scaled to 0. Of what has several components each cluster has all.
func Divided(spec *workv1alpha2.ResourceBindingSpec) bool {
	return IsWorkload(spec) && len(spec.Components) < 2 && spec.Placement != nil && spec.Placement.ReplicaScheduling != nil &&
		spec.Placement.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.Duplicated
}

// Bounded says whether clusters may be kept from shares of the replicas, so that some are placed
// nowhere though the scheduler is content.
func Bounded(spec *workv1alpha2.ResourceBindingSpec) bool {
	return Divided(spec) && len(spec.Placement.ReplicaScheduling.ReplicaBounds) > 0
}

// Targets returns the clusters that get a Work: those that the scheduler chose, then those of
// the bindings that need this one.
func Targets(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.TargetCluster {
	out := slices.Clone(spec.Clusters)
	seen := make(map[string]bool, len(out))
	for i := range out {
		seen[out[i].Name] = true
	}
	for i := range spec.RequiredBy {
		for _, target := range spec.RequiredBy[i].Clusters {
			if !seen[target.Name] {
				seen[target.Name] = true
				out = append(out, target)
			}
		}
	}
	return out
}

// TargetNames returns the clusters of targets, in their order.
func TargetNames(targets []workv1alpha2.TargetCluster) []string {
	out := make([]string, len(targets))
	for i := range targets {
		out[i] = targets[i].Name
	}
	return out
}

// Places returns the names of the clusters that have the template or are to have it, sorted:
// its targets, and those that it leaves in its own time.
func Places(spec *workv1alpha2.ResourceBindingSpec) []string {
	names := TargetNames(Targets(spec))
	for i := range spec.GracefulEvictionTasks {
		if task := &spec.GracefulEvictionTasks[i]; task.PurgeMode.Canonical() != policyv1alpha1.PurgeDirectly {
			names = append(names, task.FromCluster)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsTarget says whether a cluster is one of the targets.
func IsTarget(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	named := func(target workv1alpha2.TargetCluster) bool { return target.Name == cluster }
	return slices.ContainsFunc(spec.Clusters, named) || slices.ContainsFunc(spec.RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return slices.ContainsFunc(s.Clusters, named)
	})
}

// Replacing returns those of some targets of what is not divided that take the place of copies which are being left: they had
// none before one of these evictions, as the binding remembers them. One of which it is not known what was before counts for nothing.
func Replacing(spec *workv1alpha2.ResourceBindingSpec, past []workv1alpha2.Eviction, targets []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	if len(targets) == 0 || len(spec.GracefulEvictionTasks) == 0 {
		return nil
	}
	// All is how many of these evictions there are, and had before how many of them, the first ones without a gap, a cluster had a copy.
	had, all := map[string]int{}, 0
	var last []workv1alpha2.TargetCluster
	for i := range past {
		e := &past[i]
		if e.Ended != nil || e.Before == nil || !Leaving(spec, e.From) || all > 0 && same(e.Before, last) {
			continue
		}
		last = e.Before
		for j := range e.Before {
			if name := e.Before[j].Name; had[name] == all {
				had[name] = all + 1
			}
		}
		all++
	}
	if all == 0 {
		return nil
	}
	var out []workv1alpha2.TargetCluster
	for i := range targets {
		if had[targets[i].Name] < all {
			out = append(out, targets[i])
		}
	}
	return out
}

// same says whether two lists are one: many clusters that are left at once had the same targets before.
func same(a, b []workv1alpha2.TargetCluster) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Leaving says whether a cluster is being left.
func Leaving(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	return slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == cluster })
}

// Requirers names the bindings whose workloads need the object of a binding.
func Requirers(needed workv1alpha2.Binding) []types.NamespacedName {
	var out []types.NamespacedName
	for _, s := range needed.BindingSpec().RequiredBy {
		if s.Name == "" {
			continue // all that is in a namespace, or what several have alike
		}
		out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	}
	return out
}

// Needs says whether the workload of a binding needs an object by what its template says now, in whatever
// version the object is read. What it needs by labels is taken to be any of the kind, and if nothing is noted it may be anything.
func Needs(b workv1alpha2.Binding, obj *workv1alpha2.ObjectReference) bool {
	var refs []configv1alpha1.DependentObjectReference
	if err := json.Unmarshal([]byte(b.GetAnnotations()[contract.DependenciesAnnotation]), &refs); err != nil {
		return true
	}
	kind := schema.FromAPIVersionAndKind(obj.APIVersion, obj.Kind).GroupKind()
	return slices.ContainsFunc(refs, func(r configv1alpha1.DependentObjectReference) bool {
		return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind() == kind && r.Namespace == obj.Namespace && (r.Name == "" || r.Name == obj.Name)
	})
}

// TemplateRef refers to the template in events, which need not be read for it.
func TemplateRef(b workv1alpha2.Binding) *corev1.ObjectReference {
	r := &b.BindingSpec().Resource
	return &corev1.ObjectReference{
		APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion,
	}
}

// IDLabel is the label with the permanent id of a binding in a namespace, or of one that is
// in none.
func IDLabel(namespace string) string {
	if namespace == "" {
		return contract.ClusterResourceBindingPermanentIDLabel
	}
	return contract.ResourceBindingPermanentIDLabel
}

// IDOf returns the permanent id of the binding that an object carries as a label: a Work, what it carries, or the
// binding itself. It is empty if there is none.
func IDOf(obj metav1.Object) string {
	labels := obj.GetLabels()
	return cmp.Or(labels[contract.ResourceBindingPermanentIDLabel], labels[contract.ClusterResourceBindingPermanentIDLabel])
}

// Finalizer names the finalizer by which the Works of a binding go with it: of one in a namespace, or of one in none.
func Finalizer(namespace string) string {
	if namespace == "" {
		return contract.ClusterBindingFinalizer
	}
	return contract.BindingFinalizer
}

// KeyOf returns the binding that a Work names, and whether it names one. A cluster-scoped
// binding has no namespace.
func KeyOf(work metav1.Object) (types.NamespacedName, bool) {
	annotations := work.GetAnnotations()
	key := types.NamespacedName{
		Namespace: annotations[contract.ResourceBindingNamespaceAnnotation],
		Name:      annotations[contract.ResourceBindingNameAnnotation],
	}
	if key.Namespace == "" || key.Name == "" {
		key = types.NamespacedName{Name: annotations[contract.ClusterResourceBindingNameAnnotation]}
	}
	return key, key.Name != ""
}

// IsOwn says whether a Work that carries the permanent id of a binding is the binding's own. A binding
// that somebody copied has the id of the first one, whose Works name the first. A Work that names
// no binding goes by the id alone.
func IsOwn(b workv1alpha2.Binding, work metav1.Object) bool {
	key, ok := KeyOf(work)
	return !ok || key == types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
}
