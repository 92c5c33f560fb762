package status

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// pendingTemplates holds the bindings whose template may still have to be written. The binding's own status does not tell, because it is
// written even if the write of the template fails.
type pendingTemplates struct {
	mu sync.Mutex
	// why is the reason for which the template could not be written.
	why map[types.NamespacedName]string
	// settled are the bindings whose template this process has written or found to be up to date. After a restart every template counts
	// as unwritten.
	settled sets.Set[types.NamespacedName]
}

func newPendingTemplates() *pendingTemplates {
	return &pendingTemplates{why: map[types.NamespacedName]string{}, settled: sets.Set[types.NamespacedName]{}}
}

func (o *pendingTemplates) has(key types.NamespacedName) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.settled.Has(key)
}

// failed records why a template could not be written, and returns whether the reason is new.
func (o *pendingTemplates) failed(key types.NamespacedName, why string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, ok := o.why[key]
	o.why[key] = why
	o.settled.Delete(key)
	return !ok || before != why
}

// markPending makes the next reconcile of a binding write its template again.
func (o *pendingTemplates) markPending(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settled.Delete(key)
}

func (o *pendingTemplates) settle(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.why, key)
	o.settled.Insert(key)
}

// forget drops a deleted binding.
func (o *pendingTemplates) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.why, key)
	o.settled.Delete(key)
}
