package kube

import (
	"sync"
	"time"
)

// WarnOnce remembers the last warning per object and reason, so that it is given once rather than at every retry. The
// zero value is ready to use; it is safe for concurrent use.
type WarnOnce[K comparable] struct {
	mu   sync.Mutex
	last map[K]map[string]warning
}

// warning is a text, and when it was given if that matters.
type warning struct {
	text string
	at   time.Time
}

// IsNew records a warning, and returns false if it equals the last one for the reason.
func (w *WarnOnce[K]) IsNew(about K, reason, text string) bool {
	return w.IsDue(about, reason, text, time.Time{}, 0)
}

// IsDue is IsNew for a warning that is repeated: the same warning is due again after every; never if every is zero.
func (w *WarnOnce[K]) IsDue(about K, reason, text string, now time.Time, every time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, warned := w.last[about][reason]; warned && last.text == text && (every == 0 || now.Sub(last.at) < every) {
		return false
	}
	if w.last == nil {
		w.last = map[K]map[string]warning{}
	}
	if w.last[about] == nil {
		w.last[about] = map[string]warning{}
	}
	w.last[about][reason] = warning{text, now}
	return true
}

// Resolved forgets the warning of a reason, so that its next occurrence counts as new.
func (w *WarnOnce[K]) Resolved(about K, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.last[about], reason); len(w.last[about]) == 0 {
		delete(w.last, about)
	}
}

// Forget forgets all warnings about an object that has recovered or is gone.
func (w *WarnOnce[K]) Forget(about K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, about)
}
