package dependencies

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
)

// held returns, beside what a template names, what follows its workload already, while nothing of that is delivered to some
// cluster: the copy there may be of an older template, and need what the new one does not name. Somebody else's objects need
// their grants as ever. What goes out in waves has its own record of what clusters may need.
func held(b kube.Binding, named []configv1alpha1.DependentObjectReference, attached []kube.Binding) []configv1alpha1.DependentObjectReference {
	spec := b.BindingSpec()
	suspended := func(cluster string) bool { return bindings.Suspended(spec.Suspension, cluster) }
	if bindings.IsStaged(b) || len(attached) == 0 || !slices.ContainsFunc(bindings.Places(spec), suspended) {
		return nil
	}
	return unnamed(named, attached)
}

// unnamed returns references to what follows a workload already and is not named, sorted. What is going is let go.
func unnamed(named []configv1alpha1.DependentObjectReference, attached []kube.Binding) []configv1alpha1.DependentObjectReference {
	var out []configv1alpha1.DependentObjectReference
	for _, other := range attached {
		if ofAnother(other) || other.GetDeletionTimestamp() != nil {
			continue // somebody wrote the former, and would have what it names sent to clusters
		}
		ref := other.BindingSpec().Resource
		if it := (configv1alpha1.DependentObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}); !names(named, it) {
			out = append(out, it)
		}
	}
	slices.SortFunc(out, func(a, b configv1alpha1.DependentObjectReference) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// names says whether references name one object, in whatever version.
func names(refs []configv1alpha1.DependentObjectReference, one configv1alpha1.DependentObjectReference) bool {
	kind := schema.FromAPIVersionAndKind(one.APIVersion, one.Kind).GroupKind()
	return slices.ContainsFunc(refs, func(ref configv1alpha1.DependentObjectReference) bool {
		return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() == kind && ref.Namespace == one.Namespace && ref.Name == one.Name
	})
}

// without returns references but for those to some objects.
func without(refs, objects []configv1alpha1.DependentObjectReference) []configv1alpha1.DependentObjectReference {
	if len(objects) == 0 {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), func(ref configv1alpha1.DependentObjectReference) bool { return names(objects, ref) })
}
