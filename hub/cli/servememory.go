package cli

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"fairlead.dev/common/memory"
)

const (
	// heapPeriod is how often the live heap is measured, which grows slowly.
	heapPeriod = 5 * time.Second
	// heapStep is the least change in percent that is applied: each change stops all goroutines.
	heapStep = 5
)

// followHeap keeps the GOGC percentage of this process at the value of memory.Percent until the context ends. It does
// nothing if $GOGC is set.
func followHeap(ctx context.Context, env Environment) {
	if env.Getenv("GOGC") != "" {
		return
	}
	ticker := env.Clock.NewTicker(heapPeriod)
	defer ticker.Stop()
	for now := memory.Percent(0); ; {
		if want := memory.Percent(liveHeap()); want-now >= heapStep || now-want >= heapStep {
			debug.SetGCPercent(want)
			now = want
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// liveHeap returns the live heap after the last garbage collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
