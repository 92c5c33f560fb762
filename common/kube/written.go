package kube

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// writtenFor bounds how long a write is remembered. If the cache lags further behind, the next write conflicts, which
// is harmless.
const writtenFor = 10 * time.Second

// Written remembers what this process wrote until the cache shows it, so that a reconcile that runs before the watch
// event does not repeat the write. It is safe for concurrent use.
type Written[K comparable, T client.Object] struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	objects map[K]written[T]
	order   []orderOf[K]
	// ended are the objects that the watch has shown as deleted: the answer to a write may arrive afterwards.
	ended      map[types.UID]struct{}
	endedOrder []orderOf[types.UID]
}

type written[T client.Object] struct {
	obj T
	at  time.Time
}

type orderOf[K comparable] struct {
	key K
	at  time.Time
}

// NewWritten returns an empty Written.
func NewWritten[K comparable, T client.Object](c clock.PassiveClock) *Written[K, T] {
	return &Written[K, T]{clock: c, objects: map[K]written[T]{}, ended: map[types.UID]struct{}{}}
}

// Put records an object as the server returned it. It keeps a copy.
func (w *Written[K, T]) Put(key K, obj T) {
	kept, ok := obj.DeepCopyObject().(T)
	if !ok {
		return
	}
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.ended[kept.GetUID()]; ok {
		return
	}
	for len(w.order) > 0 && now.Sub(w.order[0].at) > writtenFor {
		old := w.order[0]
		if w.objects[old.key].at.Equal(old.at) {
			delete(w.objects, old.key)
		}
		w.order = w.order[1:]
	}
	w.objects[key] = written[T]{obj: kept, at: now}
	w.order = append(w.order, orderOf[K]{key: key, at: now})
}

// Seen must be called with each version of an object that the watch shows.
func (w *Written[K, T]) Seen(key K, obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mine, ok := w.objects[key]; ok && !contract.Older(obj.GetResourceVersion(), mine.obj.GetResourceVersion()) {
		delete(w.objects, key)
	}
}

// IsLast returns whether a version of an object from the watch is the last one that this process wrote. Call it
// before Seen.
func (w *Written[K, T]) IsLast(key K, obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine, ok := w.objects[key]
	return ok && mine.obj.GetUID() == obj.GetUID() && mine.obj.GetResourceVersion() == obj.GetResourceVersion()
}

// Gone must be called when the watch shows that an object was deleted.
func (w *Written[K, T]) Gone(key K, obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mine, ok := w.objects[key]; ok && mine.obj.GetUID() == obj.GetUID() {
		delete(w.objects, key)
	}
	now := w.clock.Now()
	for len(w.endedOrder) > 0 && now.Sub(w.endedOrder[0].at) > writtenFor {
		delete(w.ended, w.endedOrder[0].key)
		w.endedOrder = w.endedOrder[1:]
	}
	w.ended[obj.GetUID()] = struct{}{}
	w.endedOrder = append(w.endedOrder, orderOf[types.UID]{key: obj.GetUID(), at: now})
}

// Latest returns the newer of the cached and the written version of an object; found says whether the cache has the
// object. The caller may change the result.
func (w *Written[K, T]) Latest(key K, cached T, found bool) (T, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine, ok := w.objects[key]
	if !ok {
		return cached, found
	}
	if w.clock.Since(mine.at) > writtenFor || (found && !contract.Older(cached.GetResourceVersion(), mine.obj.GetResourceVersion())) {
		delete(w.objects, key)
		return cached, found
	}
	fresh, ok := mine.obj.DeepCopyObject().(T)
	if !ok {
		return cached, found
	}
	return fresh, true
}
