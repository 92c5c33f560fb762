package vm

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns how long the thread of the goroutine has had a processor.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
