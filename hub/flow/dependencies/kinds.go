package dependencies

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// kinds are the kinds of which some workload needs objects, watched as metadata only. It is safe for concurrent use.
type kinds struct {
	*watchset.Set

	wants *attach.Wants
	// wake requests bindings; it is set before the first worker runs.
	wake func(...request)
}

func newKinds(deps watchset.Deps, wants *attach.Wants) *kinds {
	k := &kinds{wants: wants}
	deps.Handler = k.events
	deps.Unserved = func(kind schema.GroupVersionKind) { k.wake(wants.Of(kind.GroupKind())...) }
	k.Set = watchset.New(deps)
	return k
}

// find returns the objects that a reference means, which must not be modified; nil if the kind is not listed yet. The error is
// kube.IsUnserved if the hub does not serve the kind.
func (k *kinds) find(ctx context.Context, kind schema.GroupVersionKind, ref configv1alpha1.DependentObjectReference) (found *[]*metav1.PartialObjectMetadata, err error) {
	if _, err := k.Ensure(ctx, kind); err != nil {
		return nil, err
	}
	_, err = k.Read(kind, func(from client.Reader, namespaced bool) (err error) {
		found, err = find(ctx, from, namespaced, kind, ref)
		return err
	})
	return found, err
}

// find returns the objects of a kind that a reference means.
func find(
	ctx context.Context, from client.Reader, namespaced bool, kind schema.GroupVersionKind, ref configv1alpha1.DependentObjectReference,
) (*[]*metav1.PartialObjectMetadata, error) {
	out := []*metav1.PartialObjectMetadata{}
	if namespaced != (ref.Namespace != "") {
		return &out, nil // no such object can exist
	}
	if ref.Name != "" {
		obj := kube.MetadataOf(kind)
		err := from.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, obj)
		switch {
		case apierrors.IsNotFound(err):
			return &out, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, ref.Name, err)
		}
		out = append(out, obj)
		return &out, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("reading the label selector of a dependency of kind %q: %w", kind.Kind, err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := from.List(ctx, list, client.InNamespace(ref.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing kind %q: %w", kind, err)
	}
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return &out, nil
}

// stopUnneeded stops the watches of kinds that no workload needs any more.
func (k *kinds) stopUnneeded(ctx context.Context) error {
	for _, kind := range k.Kinds() {
		if slices.Contains(k.wants.Kinds(), kind) {
			continue
		}
		if _, err := k.Stop(ctx, kind); err != nil {
			return err
		}
		if slices.Contains(k.wants.Kinds(), kind) { // it is needed again, and the reconcile may rely on this watch
			if _, err := k.Ensure(ctx, kind); err != nil && !kube.IsUnserved(err) {
				return err
			}
		}
	}
	return nil
}

// events requests the bindings that need an object of a watch event.
func (k *kinds) events(kind schema.GroupVersionKind) toolscache.ResourceEventHandler {
	wake := func(obj any) {
		if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			k.wake(k.wants.By(kind, o)...)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake,
		UpdateFunc: func(before, after any) {
			old, ok := before.(*metav1.PartialObjectMetadata)
			if !ok {
				return
			}
			if now, ok := after.(*metav1.PartialObjectMetadata); ok && old.ResourceVersion == now.ResourceVersion {
				return // a resync
			}
			wake(before) // the old labels may have matched other references
			wake(after)
		},
		DeleteFunc: wake,
	}
}
