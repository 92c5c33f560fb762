package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Object is an object that a workload needs.
type Object struct {
	Kind schema.GroupVersionKind
	Meta *metav1.PartialObjectMetadata
}

// Binding returns the name of the binding of the object.
func (o Object) Binding() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Meta.Namespace, Name: contract.BindingName(o.Kind.Kind, o.Meta.Name)}
}

// IsOf returns whether a binding is the object's, in any version. Two groups may have a kind of the same name, and then the bindings of
// their objects have the same names.
func (o Object) IsOf(b workv1alpha2.Binding) bool {
	return KindOf(b).GroupKind() == o.Kind.GroupKind() && keyOf(b) == o.Binding()
}

// Finding is the result of looking up references.
type Finding struct {
	Objects []Object
	// Unserved are kinds that the hub does not serve, or not any more.
	Unserved []schema.GroupVersionKind
}

// KindOf returns the kind of the object of a binding.
func KindOf(b workv1alpha2.Binding) schema.GroupVersionKind {
	ref := b.BindingSpec().Resource
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}

// OfAnother returns whether a binding names a template in another namespace. The hub creates no such bindings. With a forged one, a user
// who may write bindings in one namespace could send dependencies of other namespaces anywhere.
func OfAnother(b workv1alpha2.Binding) bool {
	return b.BindingSpec().Resource.Namespace != b.GetNamespace()
}

func keyOf(b metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
}

// names returns whether references name an object, in any version.
func names(refs []configv1alpha1.DependentObjectReference, one configv1alpha1.DependentObjectReference) bool {
	kind := schema.FromAPIVersionAndKind(one.APIVersion, one.Kind).GroupKind()
	return slices.ContainsFunc(refs, func(ref configv1alpha1.DependentObjectReference) bool {
		return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() == kind && ref.Namespace == one.Namespace && ref.Name == one.Name
	})
}

// Without returns the references without those to some objects.
func Without(refs, objects []configv1alpha1.DependentObjectReference) []configv1alpha1.DependentObjectReference {
	if len(objects) == 0 {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), func(ref configv1alpha1.DependentObjectReference) bool { return names(objects, ref) })
}
