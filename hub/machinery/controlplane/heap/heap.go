package heap

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// least is Go's own default for GOGC: it collects when the heap has doubled.
	least = 100
	// most is where more memory saves next to nothing.
	most = 400
	// period is how often it is looked how much is in use: what lives grows slowly.
	period = 5 * time.Second
	// step is by how much the percentage must differ to be set: all goroutines stop for that.
	step = 10
)

// Percent is by how much a heap, of which so much lives, may grow before the next collection, so that it stays within
// room as long as that is not less than Go would take anyway. Both are in bytes.
func Percent(live, room uint64) int {
	if live == 0 {
		return most
	}
	if room <= live {
		return least
	}
	return int(min(most, max(least, (room-live)*100/live)))
}

// Follow keeps the percentage of this program as Percent says until the context ends. Who set $GOGC knows better:
// then it does nothing.
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

// live is how much of the heap the last collection found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
