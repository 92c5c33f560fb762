package filled

import (
	"syscall"
	"testing"
	"time"
)

// ReportCPU reports the processor time that the loop of a benchmark takes, which others on the machine lengthen less than its
// time: cpu-ns/op, with what the garbage collector takes. It is called right before the loop, and what it returns after it.
func ReportCPU(b *testing.B) func() {
	b.Helper()
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// used is the processor time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
