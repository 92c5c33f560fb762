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

// IsWorkload returns whether the template has replicas, even if it is scaled to zero.
func IsWorkload(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Replicas > 0 || spec.ReplicaRequirements != nil
}

// HasComponents returns whether the template has several kinds of pods, each with a number of its own. A job with a
// single task is such a template too: its replicas are those of its only component.
func HasComponents(spec *workv1alpha2.ResourceBindingSpec) bool { return len(spec.Components) > 0 }

// Divided returns whether each cluster gets a share of the replicas, even if the workload is scaled to 0. A workload
// of components is not divided: each cluster gets all of it.
func Divided(spec *workv1alpha2.ResourceBindingSpec) bool {
	return IsWorkload(spec) && !HasComponents(spec) && spec.Placement != nil && spec.Placement.ReplicaScheduling != nil &&
		spec.Placement.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.Duplicated
}

// Bounded returns whether clusters may limit their shares of the replicas, so that some replicas stay unplaced
// although scheduling succeeded.
func Bounded(spec *workv1alpha2.ResourceBindingSpec) bool {
	return Divided(spec) && len(spec.Placement.ReplicaScheduling.ReplicaBounds) > 0
}

// Targets returns the clusters that get a Work: those that the scheduler chose, then those of the bindings that
// require this one.
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

// TargetNames returns the names of the targets' clusters, in their order.
func TargetNames(targets []workv1alpha2.TargetCluster) []string {
	out := make([]string, len(targets))
	for i := range targets {
		out[i] = targets[i].Name
	}
	return out
}

// Places returns the names of the clusters that have the template or should have it, sorted: its targets, and the
// clusters from which it is being evicted gracefully.
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

// IsTarget returns whether a cluster is one of the targets.
func IsTarget(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	named := func(target workv1alpha2.TargetCluster) bool { return target.Name == cluster }
	return slices.ContainsFunc(spec.Clusters, named) || slices.ContainsFunc(spec.RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return slices.ContainsFunc(s.Clusters, named)
	})
}

// Replacing returns the targets that replace copies which are being evicted, for a template that is not divided:
// according to the binding's history, targets that had no copy before one of these evictions. Evictions whose earlier
// targets are unknown do not count.
func Replacing(spec *workv1alpha2.ResourceBindingSpec, past []workv1alpha2.Eviction, targets []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	if len(targets) == 0 || len(spec.GracefulEvictionTasks) == 0 {
		return nil
	}
	// all is the number of these evictions. had counts, per cluster, for how many consecutive ones, starting with the
	// first, the cluster had a copy before.
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

// same returns whether two lists share their memory: concurrent evictions share the list of earlier targets.
func same(a, b []workv1alpha2.TargetCluster) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Leaving returns whether the application is being evicted from a cluster.
func Leaving(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	return slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == cluster })
}

// Requirers returns the bindings whose workloads need the object of a binding.
func Requirers(needed workv1alpha2.Binding) []types.NamespacedName {
	var out []types.NamespacedName
	for _, s := range needed.BindingSpec().RequiredBy {
		if s.Name == "" {
			continue // an entry without a name stands for a whole namespace, or for several bindings
		}
		out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	}
	return out
}

// Needs returns whether the workload of a binding needs an object, in any version, according to the dependencies
// recorded on the binding. A dependency by labels matches every object of its kind, and a binding without a record
// matches everything.
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

// IDLabel returns the label of the permanent ID, for a namespaced or a cluster-scoped binding.
func IDLabel(namespace string) string {
	if namespace == "" {
		return contract.ClusterResourceBindingPermanentIDLabel
	}
	return contract.ResourceBindingPermanentIDLabel
}

// IDOf returns the permanent ID in the labels of a binding or Work; empty if there is none.
func IDOf(obj metav1.Object) string {
	labels := obj.GetLabels()
	return cmp.Or(labels[contract.ResourceBindingPermanentIDLabel], labels[contract.ClusterResourceBindingPermanentIDLabel])
}

// Finalizer returns the finalizer with which a binding waits for the deletion of its Works, for a namespaced or a
// cluster-scoped binding.
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

// IsOwn returns whether a Work with the permanent ID of a binding belongs to it. A copy of a binding has the same ID,
// but the Works name the original. A Work that names no binding is identified by the ID alone.
func IsOwn(b workv1alpha2.Binding, work metav1.Object) bool {
	key, ok := KeyOf(work)
	return !ok || key == types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
}
