package execution

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
)

// ownersDepth bounds how far the owners of owners are followed; beyond that, owners count as staying.
const ownersDepth = 5

// container is a Namespace or a CustomResourceDefinition, and its contents.
type container struct {
	plan.Object

	// kinds are the kinds of the objects in it, and namespace is where they are; empty means anywhere.
	kinds     []schema.GroupVersionKind
	namespace string
	// definition is the live CustomResourceDefinition; nil for a Namespace, and if there is none. unlisted describes
	// the instances that cannot be listed.
	definition *unstructured.Unstructured
	unlisted   []string
	// staying caches which owners stay when the container is deleted.
	staying map[types.UID]bool
	// works caches the Works that objects in it, or their owners, name; nil for one that does not exist.
	works map[types.NamespacedName]*namedWork
	// first is about an object that has to be deleted first; nil if there is none.
	first *endsFirstError
}

// goes returns whether an owner is deleted with the container, or is the container itself.
func (c *container) goes(owner plan.Object, scope meta.RESTScopeName) bool {
	switch {
	case owner.GroupKind() == c.GroupKind() && owner.Name == c.Name && scope == meta.RESTScopeNameRoot:
		return true
	case c.namespace != "":
		return scope == meta.RESTScopeNameNamespace
	default:
		return len(c.kinds) == 1 && owner.GroupKind() == c.kinds[0].GroupKind()
	}
}

// ownedByWhatStays returns whether an object in a container has an owner that stays when the container is deleted:
// then it is that owner's, and not ours to delete. Owners that are deleted as well, are gone, or are from the hub do
// not count.
func (r *Reconciler) ownedByWhatStays(ctx context.Context, in *container, obj *metav1.PartialObjectMetadata, depth int) (bool, error) {
	for _, owner := range obj.OwnerReferences {
		stays, known := in.staying[owner.UID]
		if !known {
			var err error
			if stays, err = r.ownerStays(ctx, in, obj.Namespace, owner, depth); err != nil {
				return false, err
			}
			if in.staying == nil {
				in.staying = map[types.UID]bool{}
			}
			in.staying[owner.UID] = stays
		}
		if stays {
			return true, nil
		}
	}
	return false, nil
}

func (r *Reconciler) ownerStays(ctx context.Context, in *container, namespace string, owner metav1.OwnerReference, depth int) (bool, error) {
	object := plan.Object{GroupVersionKind: schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), NamespacedName: types.NamespacedName{Name: owner.Name}}
	mapping, err := r.memberClient.RESTMapper().RESTMapping(object.GroupKind(), object.Version)
	if meta.IsNoMatchError(err) {
		return true, nil // an unknown kind: the garbage collector does not collect its dependents
	}
	if err != nil {
		return false, fmt.Errorf("looking up the kind of %s in the member, which owns others: %w", object, err)
	}
	if in.goes(object, mapping.Scope.Name()) {
		return false, nil
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		object.Namespace = namespace
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(object.GroupVersionKind)
	switch err := r.reader.Get(ctx, object.NamespacedName, live); {
	case unserved(err):
		return true, nil // as for an unknown kind
	case apierrors.IsNotFound(err):
		return false, nil // its dependents are garbage-collected
	case apierrors.IsForbidden(err):
		return true, nil // an owner that cannot be seen counts as staying
	case err != nil:
		return false, fmt.Errorf("reading %s from the member, which owns others: %w", object, err)
	case live.UID != owner.UID:
		return false, nil // as if the owner were gone
	}
	if stays, told, err := r.outlives(ctx, in, false, object, live); told || err != nil {
		return stays, err
	}
	if len(live.OwnerReferences) == 0 || depth >= ownersDepth {
		return true, nil
	}
	return r.ownedByWhatStays(ctx, in, live, depth+1)
}
