package kube

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// DeferredStatus holds changes to the status of bindings that are not urgent, so that the next stage that writes the
// status includes them, which saves a request. A stage that defers a change writes it itself after a while, unless it
// is dispensable. Changes that are lost with the process are found again by the next reconcile of the binding. It is
// safe for concurrent use.
type DeferredStatus struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	bindings map[types.NamespacedName]deferred
}

type deferred struct {
	uid        types.UID
	generation int64
	since      time.Time
	say        func(*workv1alpha2.ResourceBindingStatus)
}

func (d deferred) isOf(b Binding) bool {
	return d.uid == b.GetUID() && d.generation == b.GetGeneration()
}

// NewDeferredStatus returns an empty DeferredStatus.
func NewDeferredStatus(c clock.PassiveClock) *DeferredStatus {
	return &DeferredStatus{clock: c, bindings: map[types.NamespacedName]deferred{}}
}

// Defer holds a change for the present version of a binding, and returns since when a change of it has been waiting.
func (d *DeferredStatus) Defer(b Binding, say func(*workv1alpha2.ResourceBindingStatus)) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := client.ObjectKeyFromObject(b)
	entry := deferred{uid: b.GetUID(), generation: b.GetGeneration(), since: d.clock.Now(), say: say}
	if old, ok := d.bindings[key]; ok && old.isOf(b) {
		entry.since = old.since
	}
	d.bindings[key] = entry
	return entry.since
}

// Since returns since when a change has been waiting for the present version of a binding; false if there is none.
func (d *DeferredStatus) Since(b Binding) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	entry, ok := d.bindings[client.ObjectKeyFromObject(b)]
	return entry.since, ok && entry.isOf(b)
}

// Include applies the waiting changes to the status of a binding that the caller is about to write.
func (d *DeferredStatus) Include(b Binding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if entry, ok := d.bindings[client.ObjectKeyFromObject(b)]; ok && entry.isOf(b) {
		entry.say(b.BindingStatus())
	}
}

// Drop removes the waiting changes of a binding, because they are written or the binding is gone.
func (d *DeferredStatus) Drop(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.bindings, key)
}
