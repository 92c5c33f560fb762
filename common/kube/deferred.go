package kube

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// DeferredStatus holds what one stage has to say in the status of a binding and nobody waits
// for. Another stage that writes the status soon takes it along, which saves a request of its
// own. Who defers something writes it itself if nobody did, unless it can do without; what is lost with the process is
// found missing when the binding is looked at again. It is safe for use by many goroutines.
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

// NewDeferredStatus returns an empty value.
func NewDeferredStatus(c clock.PassiveClock) *DeferredStatus {
	return &DeferredStatus{clock: c, bindings: map[types.NamespacedName]deferred{}}
}

// Defer holds what is to be said of a binding as it is now. It returns since when that waits.
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

// Since returns since when something about a binding as it is waits; false if nothing does.
func (d *DeferredStatus) Since(b Binding) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	entry, ok := d.bindings[client.ObjectKeyFromObject(b)]
	return entry.since, ok && entry.isOf(b)
}

// Include says in the status of a binding what waits, for who is about to write it.
func (d *DeferredStatus) Include(b Binding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if entry, ok := d.bindings[client.ObjectKeyFromObject(b)]; ok && entry.isOf(b) {
		entry.say(b.BindingStatus())
	}
}

// Drop forgets what waits for a binding: it is written, or the binding is gone.
func (d *DeferredStatus) Drop(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.bindings, key)
}
