package status

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// pendingTemplates are the bindings whose template may still have to be written. The
// binding's own status does not tell, for it is written although its template could not be.
type pendingTemplates struct {
	mu sync.Mutex
	// why the template could not be written.
	why map[types.NamespacedName]string
	// settled are those whose template this process saw to. After a restart every other
	// template counts as unwritten.
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

// failed remembers why a template could not be written, and reports whether the reason is another than before.
func (o *pendingTemplates) failed(key types.NamespacedName, why string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, ok := o.why[key]
	o.why[key] = why
	o.settled.Delete(key)
	return !ok || before != why
}

// markPending has the template of a binding seen to again.
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

// forget drops what is known of a binding that is gone.
func (o *pendingTemplates) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.why, key)
	o.settled.Delete(key)
}
