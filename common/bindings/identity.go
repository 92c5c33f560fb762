package bindings

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// NameAfter sets the name and namespace of a template's binding, and the finalizer with which it waits for the
// deletion of its Works.
func NameAfter(b metav1.Object, kind schema.GroupVersionKind, template metav1.Object) {
	b.SetName(contract.BindingName(kind.Kind, template.GetName()))
	b.SetNamespace(template.GetNamespace())
	AddFinalizer(b)
}

// ReferTo returns a binding's reference to its template.
func ReferTo(kind schema.GroupVersionKind, template metav1.Object) workv1alpha2.ObjectReference {
	return workv1alpha2.ObjectReference{
		APIVersion:      kind.GroupVersion().String(),
		Kind:            kind.Kind,
		Namespace:       template.GetNamespace(),
		Name:            template.GetName(),
		UID:             template.GetUID(),
		ResourceVersion: template.GetResourceVersion(),
	}
}

// AddFinalizer adds the finalizer with which a binding waits for the deletion of its Works. The binding's namespace
// must be set.
func AddFinalizer(b metav1.Object) {
	if finalizer := Finalizer(b.GetNamespace()); !slices.Contains(b.GetFinalizers(), finalizer) {
		b.SetFinalizers(append(slices.Clone(b.GetFinalizers()), finalizer))
	}
}

// Identify sets the permanent ID of a binding that has none. The binding's namespace must be set.
func Identify(b metav1.Object, id string) {
	label := IDLabel(b.GetNamespace())
	if b.GetLabels()[label] != "" {
		return
	}
	labels := maps.Clone(b.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[label] = id
	b.SetLabels(labels)
}
