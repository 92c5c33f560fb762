package filled

import (
	"syscall"
	"testing"
	"time"
)

// ReportCPU reports the processor time of a benchmark's loop, including garbage collection, as cpu-ns/op, which other
// load on the machine affects less than elapsed time. Call it right before the loop, and the returned function after
// it.
func ReportCPU(b *testing.B) func() {
	b.Helper()
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// used returns the processor time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
