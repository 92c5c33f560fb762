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

// Divided says whether each cluster gets a share of the replicas, also if the workload is scaled to 0. A workload of several components is
// not divided: each cluster gets all of it.
func Divided(spec *workv1alpha2.ResourceBindingSpec) bool {
	return IsWorkload(spec) && len(spec.Components) < 2 && spec.Placement != nil && spec.Placement.ReplicaScheduling != nil &&
		spec.Placement.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.Duplicated
}

// Bounded says whether clusters may limit their shares of the replicas, so that some replicas are placed nowhere although the scheduling succeeded.
func Bounded(spec *workv1alpha2.ResourceBindingSpec) bool {
	return Divided(spec) && len(spec.Placement.ReplicaScheduling.ReplicaBounds) > 0
}

// Targets returns the clusters that get a Work: those that the scheduler chose, then those of the bindings that require this one.
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

// Places returns the names of the clusters that have the template or should have it, sorted: its targets, and the clusters that it is being
// evicted from gracefully.
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

// Replacing returns the targets that replace copies which are being evicted, for a template that is not divided: targets without a copy
// before one of these evictions, as the binding's history says. Evictions whose earlier targets are unknown do not count.
func Replacing(spec *workv1alpha2.ResourceBindingSpec, past []workv1alpha2.Eviction, targets []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	if len(targets) == 0 || len(spec.GracefulEvictionTasks) == 0 {
		return nil
	}
	// all is the number of these evictions, and had, by cluster, for how many of them in a row, from the first, the cluster had a copy before.
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

// same says whether two lists share their memory: evictions at the same time have the same earlier targets.
func same(a, b []workv1alpha2.TargetCluster) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Leaving says whether a cluster is being evicted.
func Leaving(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	return slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == cluster })
}

// Requirers returns the bindings whose workloads need the object of a binding.
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

// Needs says whether the workload of a binding needs an object, in any version, by the dependencies noted on the binding. A dependency by
// labels matches every object of its kind, and a binding without notes matches everything.
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

// TemplateRef returns a reference to the template for events, without reading the template.
func TemplateRef(b workv1alpha2.Binding) *corev1.ObjectReference {
	r := &b.BindingSpec().Resource
	return &corev1.ObjectReference{
		APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion,
	}
}

// IDLabel returns the label of the permanent id, by whether the binding is namespaced.
func IDLabel(namespace string) string {
	if namespace == "" {
		return contract.ClusterResourceBindingPermanentIDLabel
	}
	return contract.ResourceBindingPermanentIDLabel
}

// IDOf returns the permanent id in the labels of a binding or of a Work; empty if there is none.
func IDOf(obj metav1.Object) string {
	labels := obj.GetLabels()
	return cmp.Or(labels[contract.ResourceBindingPermanentIDLabel], labels[contract.ClusterResourceBindingPermanentIDLabel])
}

// Finalizer returns the finalizer by which the Works of a binding are deleted with it, by whether the binding is namespaced.
func Finalizer(namespace string) string {
	if namespace == "" {
		return contract.ClusterBindingFinalizer
	}
	return contract.BindingFinalizer
}

// KeyOf returns the binding that a Work names; false if it names none. A ClusterResourceBinding has no namespace.
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

// IsOwn says whether a Work with the permanent id of a binding belongs to it. A copy of a binding has the same id, but the Works name the
// original. A Work that names no binding belongs by the id alone.
func IsOwn(b workv1alpha2.Binding, work metav1.Object) bool {
	key, ok := KeyOf(work)
	return !ok || key == types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
}
