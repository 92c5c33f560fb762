package binding

import (
	"runtime"
	"sync/atomic"
	"testing"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// BenchmarkLargeBinding measures the memory in use while an object of a megabyte is created in a thousand clusters, after garbage
// collection. The memory for requests, which are not sent here, comes on top.
func BenchmarkLargeBinding(b *testing.B) {
	const every = 100
	var created atomic.Int64
	var peak atomic.Uint64
	r := sizedHub(b, func(*workv1alpha1.Work) {
		if created.Add(1)%every == 0 {
			peak.Store(max(peak.Load(), heap()))
		}
	}, sized{"settings", 1 << 20, 1000})
	before := heap()
	for b.Loop() {
		if _, err := r.Reconcile(b.Context(), requestOf("settings")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(peak.Load()-min(before, peak.Load()))/(1<<20), "MiB-held")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
