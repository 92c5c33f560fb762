package execution

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// syncTimeout is how long the first reconcile of a kind waits for its informer. One list answers for all objects of
// the kind; without it each is read individually.
const syncTimeout = 500 * time.Millisecond

// kinds keeps an informer for each kind that some Work contains, or of which objects of ended Works may be left
// (pastWork).
type kinds struct {
	cache cache.Cache
	// confined, if not empty, replaces cache for namespaced kinds, as the mapper tells. Each cache is for the
	// namespace that is its key.
	confined map[string]cache.Cache
	mapper   meta.RESTMapper
	handler  toolscache.ResourceEventHandler
	clock    clock.Clock
	// watches tells which informers are outdated.
	watches Watches

	// past are the kinds that were ever applied; nil if that is not tracked.
	past *pastKinds

	mu     sync.Mutex
	known  map[schema.GroupVersionKind]*kind
	byWork map[types.NamespacedName]map[schema.GroupVersionKind]struct{}
	// left is the highest resourceVersion that a watch which has ended had reached.
	left reached
	// handedOver says that, since the last call of Filled, a Work stopped using a kind of which it may have left
	// objects.
	handedOver bool
}

// kind is one kind and the Works that contain it.
type kind struct {
	// informers are keyed by namespace; an informer for all namespaces has the key "" and is the only one. There are
	// none while the kind is closed.
	informers map[string]*informer
	// closed says that the member does not serve the kind, so that it is not watched until it is used again.
	closed bool
	// synced is closed once all informers have synced.
	synced <-chan struct{}
	// waitOver is closed once nobody waits for the informer any more.
	waitOver chan struct{}
	works    map[types.NamespacedName]struct{}
}

func newKinds(c cache.Cache, handler toolscache.ResourceEventHandler, cl clock.Clock) *kinds {
	return &kinds{
		cache: c, handler: handler, clock: cl, watches: allWatched{},
		known:  map[schema.GroupVersionKind]*kind{},
		byWork: map[types.NamespacedName]map[schema.GroupVersionKind]struct{}{},
	}
}

// Use ensures that there is an informer for a kind that a Work contains, and briefly waits for a new one to sync. The
// member must serve the kind.
func (k *kinds) Use(ctx context.Context, work types.NamespacedName, gvk schema.GroupVersionKind) error {
	if k.past != nil {
		k.past.Add(gvk, k.uses)
	}
	one, fresh, err := k.use(ctx, work, gvk)
	if err != nil {
		return err
	}
	select {
	case <-one.synced:
		return nil
	case <-one.waitOver:
		return nil
	default:
	}
	if fresh {
		// The first Work that uses the kind waits for all.
		defer close(one.waitOver)
		select {
		case <-one.synced:
		case <-k.clock.After(syncTimeout):
		case <-ctx.Done():
		}
		return nil
	}
	select {
	case <-one.synced:
	case <-one.waitOver:
	case <-ctx.Done():
	}
	return nil
}

func (k *kinds) use(ctx context.Context, work types.NamespacedName, gvk schema.GroupVersionKind) (one *kind, fresh bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, ok := k.known[gvk]
	fresh = !ok || one.closed
	if fresh {
		opened, err := k.open(ctx, gvk)
		if err != nil {
			return nil, false, err
		}
		if ok {
			opened.works = one.works
		}
		one = opened
		k.known[gvk] = one
	}
	k.add(work, gvk)
	return one, fresh, nil
}

// add records that a Work contains a kind, which must be in known.
func (k *kinds) add(work types.NamespacedName, gvk schema.GroupVersionKind) {
	k.known[gvk].works[work] = struct{}{}
	if k.byWork[work] == nil {
		k.byWork[work] = map[schema.GroupVersionKind]struct{}{}
	}
	k.byWork[work][gvk] = struct{}{}
}

func (k *kinds) open(ctx context.Context, gvk schema.GroupVersionKind) (*kind, error) {
	caches, err := k.caches(gvk)
	if err != nil {
		return nil, err
	}
	one := &kind{informers: map[string]*informer{}, waitOver: make(chan struct{}), works: map[types.NamespacedName]struct{}{}}
	var filled []<-chan struct{}
	for namespace, c := range caches {
		i, err := c.GetInformer(ctx, prototype(gvk), cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching %s in the member: %w", gvk.Kind, err)
		}
		shared, ok := i.(toolscache.SharedIndexInformer)
		if !ok {
			return nil, fmt.Errorf("watching %s in the member: the informer is a %T, which has no store", gvk.Kind, i)
		}
		registration, err := shared.AddEventHandler(k.handler)
		if err != nil {
			return nil, fmt.Errorf("watching %s in the member: %w", gvk.Kind, err)
		}
		synced := registration.HasSyncedChecker().Done()
		one.informers[namespace] = &informer{
			SharedIndexInformer: shared, synced: synced, lost: func() (string, string) { return k.watches.Lost(gvk, namespace) },
		}
		filled = append(filled, synced)
	}
	one.synced = filled[0]
	if len(filled) > 1 {
		one.synced = all(filled)
	}
	return one, nil
}

// caches returns the caches that contain the objects of a kind, by namespace; a cache for all namespaces has the key
// "".
func (k *kinds) caches(gvk schema.GroupVersionKind) (map[string]cache.Cache, error) {
	everywhere := map[string]cache.Cache{"": k.cache}
	if len(k.confined) == 0 {
		return everywhere, nil
	}
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up %s in the member: %w", gvk.Kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return k.confined, nil
	}
	return everywhere, nil
}

// all returns a channel that is closed when all the given ones are. An informer that never syncs costs one goroutine.
func all(several []<-chan struct{}) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		for _, one := range several {
			<-one
		}
		close(out)
	}()
	return out
}

// Keep stops the informers that only this Work needed, for kinds that it no longer contains. If still is nil, the
// Work is gone; otherwise objects of the dropped kinds may be left, so they are checked before the informers stop.
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
		if len(one.works) == 0 && still != nil && work != pastWork() {
			k.add(pastWork(), gvk)
			k.handedOver = true
		}
		if len(one.works) > 0 {
			continue
		}
		k.left = k.furthest(gvk, k.left)
		delete(k.known, gvk)
		if err := k.remove(ctx, gvk); err != nil {
			return err
		}
	}
	if len(k.byWork[work]) == 0 {
		delete(k.byWork, work)
	}
	return nil
}

func prototype(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}
