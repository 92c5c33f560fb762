package kube

import "sync"

// WarnOnce remembers the last warning for each object and reason, so that a warning is given once and not at every retry. The zero value is
// ready; it is safe for use by many goroutines.
type WarnOnce[K comparable] struct {
	mu   sync.Mutex
	last map[K]map[string]string
}

// IsNew remembers a warning, and returns false if it is the same as the last one of the reason.
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

// Resolved forgets the warning of a reason, so that it counts as new the next time.
func (w *WarnOnce[K]) Resolved(about K, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.last[about], reason); len(w.last[about]) == 0 {
		delete(w.last, about)
	}
}

// Forget forgets all warnings about an object that is well or gone.
func (w *WarnOnce[K]) Forget(about K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, about)
}
