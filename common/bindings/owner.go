package bindings

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OwnedBy has a binding go with its template.
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

// OwnedIn returns the apiVersion in which a binding names its owner; nothing if it has none.
func OwnedIn(b metav1.Object) string {
	if owner := metav1.GetControllerOf(b); owner != nil {
		return owner.APIVersion
	}
	return ""
}

// OwnedAs has a binding name its owner in an apiVersion in which the garbage collector knows the kind. It asks for the owner in the version
// that it is given, and takes the answer to one that is not served any more, which is 404, for the end of the owner: the binding would go,
// and with it what it brought to the members.
func OwnedAs(b metav1.Object, apiVersion string) {
	refs := slices.Clone(b.GetOwnerReferences())
	for i := range refs {
		if refs[i].Controller != nil && *refs[i].Controller {
			refs[i].APIVersion = apiVersion
		}
	}
	b.SetOwnerReferences(refs)
}
