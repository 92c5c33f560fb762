package heap

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// least is Go's default for GOGC: collect when the heap has doubled.
	least = 100
	// most is where more memory saves next to nothing.
	most = 400
	// period is how often the live heap is measured, which grows slowly.
	period = 5 * time.Second
	// step is the least change of the percentage that is applied: each change stops all goroutines.
	step = 10
)

// Percent returns the GOGC percentage with which a heap with that many live bytes stays within room, but not less than
// Go's default.
func Percent(live, room uint64) int {
	if live == 0 {
		return most
	}
	if room <= live {
		return least
	}
	return int(min(most, max(least, (room-live)*100/live)))
}

// Follow keeps the GOGC percentage of this program at the value of Percent until the context ends. It does nothing if
// $GOGC is set.
func Follow(ctx context.Context, room uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for now := least; ; {
		if want := Percent(live(), room); want-now >= step || now-want >= step {
			debug.SetGCPercent(want)
			now = want
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// live returns the live heap after the last collection.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
