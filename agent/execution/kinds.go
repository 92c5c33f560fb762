package execution

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"fairlead.dev/agent/execution/plan"
)

// syncPatience is how long the first reconcile that meets a kind waits for its informer.
// The list answers for all objects of the kind at once; without it each is asked for.
const syncPatience = 500 * time.Millisecond

// kinds keeps an informer for each kind that some Work contains.
type kinds struct {
	cache   cache.Cache
	handler toolscache.ResourceEventHandler
	clock   clock.Clock

	mu     sync.Mutex
	known  map[schema.GroupVersionKind]*kind
	byWork map[types.NamespacedName]map[schema.GroupVersionKind]struct{}
}

// kind is one kind and the Works that contain it.
type kind struct {
	informer toolscache.SharedIndexInformer
	synced   <-chan struct{}
	// patience is closed once nobody waits for the informer any more.
	patience chan struct{}
	works    map[types.NamespacedName]struct{}
}

func newKinds(c cache.Cache, handler toolscache.ResourceEventHandler, cl clock.Clock) *kinds {
	return &kinds{
		cache: c, handler: handler, clock: cl,
		known:  map[schema.GroupVersionKind]*kind{},
		byWork: map[types.NamespacedName]map[schema.GroupVersionKind]struct{}{},
	}
}

// Use makes sure that there is an informer for a kind that a Work contains, and gives it
// a moment to fill when it is new. The kind must be known to the member.
func (k *kinds) Use(ctx context.Context, work types.NamespacedName, gvk schema.GroupVersionKind) error {
	one, fresh, err := k.use(ctx, work, gvk)
	if err != nil {
		return err
	}
	select {
	case <-one.synced:
		return nil
	case <-one.patience:
		return nil
	default:
	}
	if fresh {
		// Whoever met the kind first waits for all.
		defer close(one.patience)
		select {
		case <-one.synced:
		case <-k.clock.After(syncPatience):
		case <-ctx.Done():
		}
		return nil
	}
	select {
	case <-one.synced:
	case <-one.patience:
	case <-ctx.Done():
	}
	return nil
}

func (k *kinds) use(ctx context.Context, work types.NamespacedName, gvk schema.GroupVersionKind) (one *kind, fresh bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, ok := k.known[gvk]
	if !ok {
		one, err = k.open(ctx, gvk)
		if err != nil {
			return nil, false, err
		}
		k.known[gvk] = one
	}
	one.works[work] = struct{}{}
	if k.byWork[work] == nil {
		k.byWork[work] = map[schema.GroupVersionKind]struct{}{}
	}
	k.byWork[work][gvk] = struct{}{}
	return one, !ok, nil
}

func (k *kinds) open(ctx context.Context, gvk schema.GroupVersionKind) (*kind, error) {
	i, err := k.cache.GetInformer(ctx, prototype(gvk), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching %s in the member: %w", gvk.Kind, err)
	}
	informer, ok := i.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("watching %s in the member: the informer is a %T, which has no store", gvk.Kind, i)
	}
	registration, err := informer.AddEventHandler(k.handler)
	if err != nil {
		return nil, fmt.Errorf("watching %s in the member: %w", gvk.Kind, err)
	}
	return &kind{
		informer: informer,
		synced:   registration.HasSyncedChecker().Done(),
		patience: make(chan struct{}),
		works:    map[types.NamespacedName]struct{}{},
	}, nil
}

// Keep stops the informers that only this Work needed, for kinds that it no longer
// contains. Without kinds, the Work is gone.
func (k *kinds) Keep(ctx context.Context, work types.NamespacedName, still map[schema.GroupVersionKind]struct{}) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gvk := range k.byWork[work] {
		if _, ok := still[gvk]; ok {
			continue
		}
		delete(k.byWork[work], gvk)
		one := k.known[gvk]
		delete(one.works, work)
		if len(one.works) > 0 {
			continue
		}
		delete(k.known, gvk)
		if err := k.cache.RemoveInformer(ctx, prototype(gvk)); err != nil {
			return fmt.Errorf("ending the watch of %s in the member: %w", gvk.Kind, err)
		}
	}
	if len(k.byWork[work]) == 0 {
		delete(k.byWork, work)
	}
	return nil
}

// Get returns what the informer of a kind has of an object, and whether the informer has
// seen all objects. What it returns is shared: nobody may change it.
func (k *kinds) Get(name plan.Object) (obj *unstructured.Unstructured, synced bool) {
	k.mu.Lock()
	one, ok := k.known[name.GroupVersionKind]
	k.mu.Unlock()
	if !ok {
		return nil, false
	}
	select {
	case <-one.synced:
	default:
		return nil, false
	}
	key := name.Name
	if name.Namespace != "" {
		key = name.Namespace + "/" + name.Name
	}
	item, found, err := one.informer.GetStore().GetByKey(key)
	if err != nil || !found {
		return nil, true
	}
	obj, _ = item.(*unstructured.Unstructured)
	return obj, true
}

func prototype(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}
