package bindings

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OwnedBy makes the template the owner of a binding, so that the garbage collector deletes the binding with it.
func OwnedBy(b metav1.Object, kind schema.GroupVersionKind, template metav1.Object) {
	b.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion:         kind.GroupVersion().String(),
		Kind:               kind.Kind,
		Name:               template.GetName(),
		UID:                template.GetUID(),
		Controller:         new(true),
		BlockOwnerDeletion: new(true),
	}})
}

// OwnedIn returns the apiVersion in a binding's owner reference; empty if it has none.
func OwnedIn(b metav1.Object) string {
	if owner := metav1.GetControllerOf(b); owner != nil {
		return owner.APIVersion
	}
	return ""
}

// OwnedAs changes the apiVersion in a binding's owner reference to one that the API serves. The garbage collector
// reads the owner in that version, and takes a 404 because the version is not served for the deletion of the owner:
// it would delete the binding, and with it the objects in the members.
func OwnedAs(b metav1.Object, apiVersion string) {
	refs := slices.Clone(b.GetOwnerReferences())
	for i := range refs {
		if refs[i].Controller != nil && *refs[i].Controller {
			refs[i].APIVersion = apiVersion
		}
	}
	b.SetOwnerReferences(refs)
}
