package watchset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

// How long to wait for the first list of a kind. The delay grows with the time waited: most lists arrive within
// milliseconds, some never do.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = 10 * time.Second
)

// Deps are the dependencies of a Set.
type Deps struct {
	// Informers are the informers of the manager's cache.
	Informers *MetadataInformers
	// Cache reads the objects that the informers keep.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Mapper maps kinds to resources.
	Mapper meta.RESTMapper
	// Served knows the kinds that the API serves. The mapper is only asked for these.
	Served *ServedKinds
	// Clock measures how long a kind has been watched.
	Clock clock.PassiveClock
	// Indexers are added to the stores of all kinds, for ReadStore; they may be empty. Sets that share informers must
	// use the same functions under the same names.
	Indexers toolscache.Indexers
	// Handler handles the events of all watches.
	Handler func(schema.GroupVersionKind) toolscache.ResourceEventHandler
	// Unserved is called when the watch of a kind ends because the API does not serve the kind any more. It must not block, and may be nil.
	Unserved func(schema.GroupVersionKind)
}

// Set watches the metadata of objects of several kinds for one stage. Kinds are added and removed while it runs. It
// is safe for concurrent use.
type Set struct {
	Deps

	// starting is held while a watch starts or stops.
	starting sync.Mutex
	// mu guards the fields below. Readers of the cache hold it too, so that no informer is removed during a read, which would start it again.
	mu      sync.RWMutex
	watched map[schema.GroupVersionKind]*watchedKind
	// removed are kinds that are not served any more, although the mapper may still know them.
	removed map[schema.GroupVersionKind]struct{}
}

// watchedKind is a kind with its informer.
type watchedKind struct {
	informer   cache.Informer
	store      toolscache.Indexer
	handler    toolscache.ResourceEventHandlerRegistration
	namespaced bool
	since      time.Time
}

// New returns a set that watches nothing yet.
func New(deps Deps) *Set {
	w := &Set{Deps: deps, watched: map[schema.GroupVersionKind]*watchedKind{}, removed: map[schema.GroupVersionKind]struct{}{}}
	deps.Informers.subscribe(w.lose)
	return w
}

// Ensure watches a kind, and returns whether it is namespaced. It returns an error that matches IsUnserved if the API
// has no such kind.
func (w *Set) Ensure(ctx context.Context, kind schema.GroupVersionKind) (namespaced bool, err error) {
	if k := w.get(kind); k != nil {
		return k.namespaced, nil
	}
	mapping, err := w.mapping(ctx, kind) // without the lock, since it may ask the API
	if err != nil {
		return false, err
	}
	w.starting.Lock()
	defer w.starting.Unlock()
	if k := w.get(kind); k != nil {
		return k.namespaced, nil
	}
	if err := w.confirm(ctx, kind); err != nil {
		return false, err
	}
	informer, err := w.Informers.Hold(ctx, kind)
	if err != nil {
		return false, err
	}
	var handler toolscache.ResourceEventHandlerRegistration
	store, err := kube.Indexed(informer, w.Indexers)
	if err == nil { // after the indexes, before anything of the kind can be read
		handler, err = informer.AddEventHandler(w.Handler(kind))
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("watching kind %q: %w", kind, err), w.Informers.LetGo(ctx, kind))
	}
	k := &watchedKind{
		informer: informer, store: store, handler: handler, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace, since: w.Clock.Now(),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched[kind] = k
	return k.namespaced, nil
}

// mapping returns the resource of a kind.
func (w *Set) mapping(ctx context.Context, kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	// If the API does not answer, the mapper may still know the kind.
	if err := w.Served.Check(ctx, kind); kube.IsUnserved(err) {
		return nil, err
	}
	return kube.Mapping(w.Mapper, kind)
}

// confirm asks the API whether it serves a kind again that it had stopped serving.
func (w *Set) confirm(ctx context.Context, kind schema.GroupVersionKind) error {
	w.mu.RLock()
	_, removed := w.removed[kind]
	w.mu.RUnlock()
	if !removed {
		return nil
	}
	served, err := isServed(ctx, w.Live, kind)
	switch {
	case err != nil:
		return err
	case !served:
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.removed, kind)
	return nil
}

// IsServed returns whether the API serves a kind, which need not be watched. It returns true if the API does not
// answer.
func (w *Set) IsServed(ctx context.Context, kind schema.GroupVersionKind) bool {
	return !kube.IsUnserved(w.Served.Check(ctx, kind)) && !kube.IsUnserved(w.confirm(ctx, kind))
}

// Stop ends the watch of a kind, and returns whether there was one.
func (w *Set) Stop(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	w.starting.Lock()
	defer w.starting.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.watched[kind]
	if !ok {
		return false, nil
	}
	if err := k.informer.RemoveEventHandler(k.handler); err != nil {
		return false, fmt.Errorf("ending the watch of kind %q: %w", kind, err)
	}
	if err := w.Informers.LetGo(ctx, kind); err != nil {
		return false, err
	}
	delete(w.watched, kind)
	return true, nil
}

// lose ends the watch of a kind that the API does not serve any more.
func (w *Set) lose(ctx context.Context, kind schema.GroupVersionKind) error {
	w.mu.Lock()
	w.removed[kind] = struct{}{}
	w.mu.Unlock()
	stopped, err := w.Stop(ctx, kind)
	if stopped && w.Unserved != nil {
		w.Unserved(kind)
	}
	return err
}

// Kinds returns the kinds that are watched, in no order.
func (w *Set) Kinds() []schema.GroupVersionKind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.Collect(maps.Keys(w.watched))
}

// Versions returns the versions of a kind that are watched, in no order.
func (w *Set) Versions(of schema.GroupKind) []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var out []string
	for kind := range w.watched {
		if kind.Kind == of.Kind && kind.Group == of.Group {
			out = append(out, kind.Version)
		}
	}
	return out
}

// LookAgain returns the delay after which to check again whether the first list of a kind has arrived.
func (w *Set) LookAgain(kind schema.GroupVersionKind) time.Duration {
	if k := w.get(kind); k != nil {
		return LookAgain(w.Clock.Since(k.since))
	}
	return firstLook
}

// LookAgain returns the delay before the next check for something that was waited for so long: it grows with that time.
func LookAgain(waited time.Duration) time.Duration { return min(max(waited/8, firstLook), lastLook) }

// Listing says whether the cache has the objects of a kind.
type Listing int

// Listings.
const (
	// Unwatched means that the kind is not watched.
	Unwatched Listing = iota
	// Syncing means that the first list has not arrived yet.
	Syncing
	// Listed means that the cache has the objects of the kind.
	Listed
)

// Read calls a function that reads the objects of a kind, with whether the kind is namespaced, if the cache has them.
func (w *Set) Read(kind schema.GroupVersionKind, read func(from client.Reader, namespaced bool) error) (Listing, error) {
	return w.read(kind, func(k *watchedKind) error { return read(w.Cache, k.namespaced) })
}

// ReadStore calls a function that reads the store of a kind, with the indexes of the set, if the cache has the kind.
// The objects in the store are shared and must not be changed.
func (w *Set) ReadStore(kind schema.GroupVersionKind, read func(store toolscache.Indexer) error) (Listing, error) {
	return w.read(kind, func(k *watchedKind) error { return read(k.store) })
}

func (w *Set) read(kind schema.GroupVersionKind, read func(*watchedKind) error) (Listing, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	k, ok := w.watched[kind]
	switch {
	case !ok:
		return Unwatched, nil
	case !k.informer.HasSynced():
		return Syncing, nil
	}
	return Listed, read(k)
}

func (w *Set) get(kind schema.GroupVersionKind) *watchedKind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.watched[kind]
}
