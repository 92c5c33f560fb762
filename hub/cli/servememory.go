package cli

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"fairlead.dev/common/memory"
)

const (
	// heapPeriod is how often it is looked how much lives in the heap, which grows slowly.
	heapPeriod = 5 * time.Second
	// heapStep is by how many percent its growth must differ to be set: all goroutines stop for that.
	heapStep = 5
)

// followHeap has the heap of this process grow as memory.Percent says until the context ends. Who set $GOGC knows better: then it does
// nothing.
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

// liveHeap is how much of the heap the last search for garbage found in use.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
