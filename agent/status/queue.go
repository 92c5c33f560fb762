package status

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
)

func newQueue(clk clock.WithTicker) workqueue.TypedRateLimitingInterface[types.NamespacedName] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "status", Clock: clk},
	)
}

// soon queues a Work after a delay, so that related changes go out in one write.
func (r *Reporter) soon(name types.NamespacedName, f *facts) {
	if !f.reported || !f.changed {
		return
	}
	if f.unsentSince.IsZero() {
		f.unsentSince = r.clock.Now()
	}
	r.queue.AddAfter(name, delay(f.written.inRow, r.clock.Since(f.written.at)))
}

// delay returns how long a change of a Work waits for others, given the number of consecutive writes before and the
// time since the last one.
func delay(inRow int, since time.Duration) time.Duration {
	switch {
	case since >= calm, since >= streamFor && inRow < streamFree:
		return firstDelay
	case inRow < streamFree:
		return streamDelay
	default:
		return min(lastDelay, streamDelay<<min(inRow-streamFree+1, 10))
	}
}

// Run writes until the context ends.
func (r *Reporter) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range r.mostWorkers() {
		workers.Go(func() {
			for r.next(ctx) {
			}
		})
	}
	r.followPods(ctx)
	r.queue.ShutDown()
	workers.Wait()
}

// next writes one Work. It returns false when the queue was shut down.
func (r *Reporter) next(ctx context.Context) bool {
	name, quit := r.queue.Get()
	if quit {
		return false
	}
	defer r.queue.Done(name)
	r.writes.acquire(r.allowed)
	defer r.writes.release()
	if err := r.write(ctx, name); err != nil {
		if ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Writing the status of a Work failed; the agent tries again", "Work", name)
			r.queue.AddRateLimited(name)
		}
		return true
	}
	r.queue.Forget(name)
	return true
}
