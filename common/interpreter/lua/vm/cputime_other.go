//go:build !linux

package vm

import "time"

// cpuTime is not available on this system: scripts are limited by wall-clock time.
func cpuTime() time.Duration { return 0 }
