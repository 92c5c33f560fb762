package dependencies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/dependencies/attach"
)

// kinds are the kinds that some workload needs objects of, watched as metadata only. It
// is safe for use by many goroutines.
type kinds struct {
	informers *kube.MetadataInformers
	reader    client.Reader
	mapper    meta.RESTMapper
	wants     *attach.Wants
	clock     clock.PassiveClock
	// wake asks for bindings; it is set before the first worker runs.
	wake func(...request)

	// mu is held by readers of the cache, so that no informer is removed below them and
	// made again by the read.
	mu      sync.RWMutex
	watched map[schema.GroupVersionKind]*watchedKind
}

type watchedKind struct {
	informer   cache.Informer
	handler    toolscache.ResourceEventHandlerRegistration
	namespaced bool
	since      time.Time
}

func newKinds(informers *kube.MetadataInformers, reader client.Reader, mapper meta.RESTMapper, wants *attach.Wants, now clock.PassiveClock) *kinds {
	return &kinds{
		informers: informers, reader: reader, mapper: mapper, wants: wants, clock: now, watched: map[schema.GroupVersionKind]*watchedKind{},
	}
}

// waited returns for how long a kind has been watched.
func (k *kinds) waited(kind schema.GroupVersionKind) time.Duration {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if w := k.watched[kind]; w != nil {
		return k.clock.Since(w.since)
	}
	return 0
}

// find returns the objects that a reference means, not to be changed; nil if the first
// list of the kind is not here yet. The error is isUnserved if the hub has no such kind.
func (k *kinds) find(ctx context.Context, kind schema.GroupVersionKind, ref configv1alpha1.DependentObjectReference) (*[]*metav1.PartialObjectMetadata, error) {
	if err := k.ensure(ctx, kind); err != nil {
		return nil, err
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	w := k.watched[kind]
	if w == nil || !w.informer.HasSynced() {
		return nil, nil
	}
	out := []*metav1.PartialObjectMetadata{}
	if w.namespaced != (ref.Namespace != "") {
		return &out, nil // there can be no such object
	}
	if ref.Name != "" {
		obj := kube.MetadataOf(kind)
		err := k.reader.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, obj)
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
	if err := k.reader.List(ctx, list, client.InNamespace(ref.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing kind %q: %w", kind, err)
	}
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return &out, nil
}

// ensure watches a kind.
func (k *kinds) ensure(ctx context.Context, kind schema.GroupVersionKind) error {
	k.mu.RLock()
	_, ok := k.watched[kind]
	k.mu.RUnlock()
	if ok {
		return nil
	}
	mapping, err := kube.Mapping(k.mapper, kind)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.watched[kind]; ok {
		return nil
	}
	informer, err := k.informers.Hold(ctx, kind)
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(k.events(kind))
	if err != nil {
		return errors.Join(fmt.Errorf("watching kind %q: %w", kind, err), k.informers.LetGo(ctx, kind))
	}
	k.watched[kind] = &watchedKind{
		informer: informer, handler: registration, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
		since: k.clock.Now(),
	}
	return nil
}

// stopUnneeded ends the watches of the kinds that nothing needs any more.
func (k *kinds) stopUnneeded(ctx context.Context) error {
	needed := k.wants.Kinds()
	k.mu.RLock()
	stop := false
	for kind := range k.watched {
		stop = stop || !slices.Contains(needed, kind)
	}
	k.mu.RUnlock()
	if !stop {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	needed = k.wants.Kinds() // somebody may need it by now
	for kind, w := range k.watched {
		if slices.Contains(needed, kind) {
			continue
		}
		if err := w.informer.RemoveEventHandler(w.handler); err != nil {
			return fmt.Errorf("ending the watch of kind %q: %w", kind, err)
		}
		if err := k.informers.LetGo(ctx, kind); err != nil {
			return err
		}
		delete(k.watched, kind)
	}
	return nil
}

// events wakes the bindings that need what the watch shows.
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
			wake(before) // labels may have led to others
			wake(after)
		},
		DeleteFunc: wake,
	}
}
