package meter

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is that of /proc on every Linux that Go runs on.
const ticksPerSecond = 100

// CPUSeconds is the time that a process has spent on a CPU.
func CPUSeconds(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is cut short", pid)
	}
	var ticks float64
	for _, field := range fields[11:13] { // user and system
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return ticks / ticksPerSecond, nil
}

// ResidentBytes is the memory that a process has now.
func ResidentBytes(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm is cut short", pid)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
