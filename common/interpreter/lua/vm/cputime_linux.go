package vm

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of the goroutine's thread.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
