package kube

import "sync"

// WarnOnce remembers the last warning of each reason about each thing, so that people hear it
// once and not with every try. The zero value is ready; it is safe for use by many
// goroutines.
type WarnOnce[K comparable] struct {
	mu   sync.Mutex
	last map[K]map[string]string
}

// IsNew says whether this was not the last warning of the reason, and remembers it.
func (w *WarnOnce[K]) IsNew(about K, reason, warning string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, warned := w.last[about][reason]; warned && last == warning {
		return false
	}
	if w.last == nil {
		w.last = map[K]map[string]string{}
	}
	if w.last[about] == nil {
		w.last[about] = map[string]string{}
	}
	w.last[about][reason] = warning
	return true
}

// Resolved drops the warning of a reason, so that it is new when it comes again.
func (w *WarnOnce[K]) Resolved(about K, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.last[about], reason); len(w.last[about]) == 0 {
		delete(w.last, about)
	}
}

// Forget drops all warnings about a thing: it is well, or gone.
func (w *WarnOnce[K]) Forget(about K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, about)
}
