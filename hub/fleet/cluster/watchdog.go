package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/hub/fleet/cluster/health"
)

// watchdog makes a health.Watchdog safe for many goroutines.
type watchdog struct {
	clock   clock.WithTicker
	options health.Options

	mu    sync.Mutex
	state health.Watchdog
}

// start ticks until the context ends. It implements source.Func, and enqueues nothing.
func (w *watchdog) start(ctx context.Context, _ workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	w.tick()
	ticker := w.clock.NewTicker(w.options.Period / 5)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
				w.tick()
			}
		}
	}()
	return nil
}

func (w *watchdog) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = w.state.Tick(w.clock.Now(), w.options.Period)
}

// runningSince returns since when the hub has run without a suspension.
func (w *watchdog) runningSince() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = w.state.Look(w.clock.Now(), w.options.Period)
	return w.state.Awake
}

// answered records that the API answered a request, and when that was sent.
func (w *watchdog) answered(asked time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = w.state.Answered(asked, w.clock.Now(), w.options.Grace)
}
