package disruption

import (
	"sync"
	"time"
)

// Watch is what a stage has seen of the clusters since it began to follow them. It is in memory only, and safe for use by
// many goroutines.
type Watch struct {
	mu    sync.Mutex
	began time.Time
}

// Began returns since when the stage follows the clusters: since it was asked first.
func (w *Watch) Began(now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = now
	}
	return w.began
}
