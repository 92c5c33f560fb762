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

// ownersDepth is how many owners of owners are asked for; further up nobody is taken to go.
const ownersDepth = 5

// container is a Namespace or a CustomResourceDefinition, and what is in it.
type container struct {
	plan.Object

	// kinds are those of the objects in it, and namespace where they are; empty if anywhere.
	kinds     []schema.GroupVersionKind
	namespace string
	// definition is the CustomResourceDefinition as it is; nil of a Namespace, and if there is none. unlisted says what of it
	// cannot be asked for.
	definition *unstructured.Unstructured
	unlisted   []string
	// staying remembers of owners whether they stay when it goes.
	staying map[types.UID]bool
	// works remembers the Works that objects in it name, or that own such objects; nil of one that is not there.
	works map[types.NamespacedName]*namedWork
	// first is about an object that has to go before; nil if there is none.
	first *endsFirstError
}

// goes says whether an owner is in the container, where it counts itself, or is the container.
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

// ownedByWhatStays says whether an object in a container has an owner that stays when the
// container goes: then it is that owner's, and not ours to delete. What has no owners, or only
// such as go too, are gone or are from the hub, is nobody's by that.
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
		return true, nil // nobody knows, and nothing collects what it owns
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
		return true, nil // as if the kind were not known
	case apierrors.IsNotFound(err):
		return false, nil // what it owned is collected
	case apierrors.IsForbidden(err):
		return true, nil // what cannot be seen is not taken to go
	case err != nil:
		return false, fmt.Errorf("reading %s from the member, which owns others: %w", object, err)
	case live.UID != owner.UID:
		return false, nil // as if it were gone
	}
	if stays, told, err := r.outlives(ctx, in, false, object, live); told || err != nil {
		return stays, err
	}
	if len(live.OwnerReferences) == 0 || depth >= ownersDepth {
		return true, nil
	}
	return r.ownedByWhatStays(ctx, in, live, depth+1)
}
