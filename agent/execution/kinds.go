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

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// syncTimeout is how long the first reconcile that meets a kind waits for its informer.
// The list answers for all objects of the kind at once; without it each is asked for.
const syncTimeout = 500 * time.Millisecond

// kinds keeps an informer for each kind that some Work contains.
type kinds struct {
	cache cache.Cache
	// confined are used instead for kinds that are in namespaces, if there are any, which
	// the mapper tells. Each is of the namespace under which it stands here.
	confined map[string]cache.Cache
	mapper   meta.RESTMapper
	handler  toolscache.ResourceEventHandler
	clock    clock.Clock
	// watches says which informers show what was once.
	watches Watches

	mu     sync.Mutex
	known  map[schema.GroupVersionKind]*kind
	byWork map[types.NamespacedName]map[schema.GroupVersionKind]struct{}
}

// kind is one kind and the Works that contain it.
type kind struct {
	// informers are by the namespace whose objects they show; one that shows all is at "", and alone. There are none while the kind is closed.
	informers map[string]*informer
	// closed says that the member was found not to serve the kind, so nothing is watched until somebody uses it anew.
	closed bool
	// synced is closed once all of them have seen all objects.
	synced <-chan struct{}
	// waitOver is closed once nobody waits for the informer any more.
	waitOver chan struct{}
	works    map[types.NamespacedName]struct{}
}

// informer shows managed objects of a kind. One that may not list its namespace never syncs, which says nothing of the others.
type informer struct {
	toolscache.SharedIndexInformer

	synced <-chan struct{}
	// lost says why what it shows may be of any age, as Watches does.
	lost func() (reason, message string)
	// told says that Filled has told that it is synced.
	told bool
}

// isSynced says whether it has seen all objects, and goes on to see what becomes of them.
func (i *informer) isSynced() bool {
	select {
	case <-i.synced:
		reason, _ := i.lost()
		return reason == ""
	default:
		return false
	}
}

// of returns the informer that shows the objects of a namespace; nil if there is none.
func (one *kind) of(namespace string) *informer {
	if everywhere, ok := one.informers[""]; ok {
		return everywhere
	}
	return one.informers[namespace]
}

func newKinds(c cache.Cache, handler toolscache.ResourceEventHandler, cl clock.Clock) *kinds {
	return &kinds{
		cache: c, handler: handler, clock: cl, watches: allWatched{},
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
	case <-one.waitOver:
		return nil
	default:
	}
	if fresh {
		// Whoever met the kind first waits for all.
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
	one.works[work] = struct{}{}
	if k.byWork[work] == nil {
		k.byWork[work] = map[schema.GroupVersionKind]struct{}{}
	}
	k.byWork[work][gvk] = struct{}{}
	return one, fresh, nil
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

// caches returns those that show the objects of a kind, by their namespaces; one that shows all is at "".
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

// all is closed when all of several are. An informer that never fills holds one goroutine.
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
		if err := k.remove(ctx, gvk); err != nil {
			return err
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
	shown := one.of(name.Namespace)
	if shown == nil || !shown.isSynced() {
		return nil, false
	}
	key := name.Name
	if name.Namespace != "" {
		key = name.Namespace + "/" + name.Name
	}
	if item, found, err := shown.GetStore().GetByKey(key); err == nil && found {
		obj, _ = item.(*unstructured.Unstructured)
	}
	return obj, true
}

// Each calls a function for every managed object of the kinds in use that is where all objects were seen.
func (k *kinds) Each(do func(*unstructured.Unstructured)) {
	k.mu.Lock()
	all := make([]*kind, 0, len(k.known))
	for _, one := range k.known {
		all = append(all, one)
	}
	k.mu.Unlock()
	for _, one := range all {
		for _, shown := range one.informers {
			if !shown.isSynced() {
				continue
			}
			for _, item := range shown.GetStore().List() {
				if obj, ok := item.(*unstructured.Unstructured); ok {
					do(obj)
				}
			}
		}
	}
}

// Filled says whether some informer has seen all objects that had not when this was last asked.
func (k *kinds) Filled() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	filled := false
	for _, one := range k.known {
		for _, shown := range one.informers {
			synced := shown.isSynced()
			filled = filled || synced && !shown.told
			shown.told = synced
		}
	}
	return filled
}

// Whole says whether all objects were seen of the kinds of a Work in some namespaces.
func (k *kinds) Whole(work types.NamespacedName, namespaces []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gvk := range k.byWork[work] {
		for _, namespace := range namespaces {
			if shown := k.known[gvk].of(namespace); k.known[gvk].closed || shown != nil && !shown.isSynced() {
				return false
			}
		}
	}
	return true
}

// Furthest returns the kind whose informer has seen the latest version of the member, and that version, which need not be one of an
// object; empty if none has seen any. If the informer shows one namespace only, that is returned as well.
func (k *kinds) Furthest() (furthest schema.GroupVersionKind, namespace, resourceVersion string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gvk, one := range k.known {
		for where, shown := range one.informers {
			version := shown.LastSyncResourceVersion()
			if reason, _ := shown.lost(); reason != "" || version == "" || resourceVersion != "" && !contract.Older(resourceVersion, version) {
				continue
			}
			if len(k.confined) > 0 && len(shown.GetStore().ListKeys()) == 0 {
				continue // nothing of ours to miss
			}
			furthest, namespace, resourceVersion = gvk, where, version
		}
	}
	return furthest, namespace, resourceVersion
}

func prototype(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}
