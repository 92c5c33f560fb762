package meter

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, the unit of /proc, which is 100 on every Linux that Go supports.
const ticksPerSecond = 100

// Process is the resource usage of a process since its start.
type Process struct {
	CPUSeconds float64
	// ResidentBytes is the current memory, PeakBytes the maximum so far.
	ResidentBytes, PeakBytes int64
	// ReadBytes and WrittenBytes count files and sockets.
	ReadBytes, WrittenBytes int64
}

// ReadProcess reads the usage of a process; name is for errors.
func ReadProcess(name string, pid int) (Process, error) {
	var out Process
	var err error
	if out.CPUSeconds, err = CPUSeconds(pid); err != nil {
		return out, fmt.Errorf("reading what %q uses: %w", name, err)
	}
	if out.ResidentBytes, err = ResidentBytes(pid); err != nil {
		return out, fmt.Errorf("reading what %q uses: %w", name, err)
	}
	for value, of := range map[*int64]struct{ file, field string }{
		&out.PeakBytes: {"status", "VmHWM"}, &out.ReadBytes: {"io", "rchar"}, &out.WrittenBytes: {"io", "wchar"},
	} {
		text := field(fmt.Sprintf("/proc/%d/%s", pid, of.file), of.field)
		number, inKB := strings.CutSuffix(text, " kB")
		if *value, err = strconv.ParseInt(number, 10, 64); err != nil {
			return out, fmt.Errorf("reading what %q uses: its %s is %q", name, of.field, text)
		}
		if inKB {
			*value <<= 10
		}
	}
	return out, nil
}

// Since returns the usage since an earlier reading; memory is the current one.
func (p Process) Since(before Process) Process {
	p.CPUSeconds -= before.CPUSeconds
	p.ReadBytes -= before.ReadBytes
	p.WrittenBytes -= before.WrittenBytes
	return p
}

// CPUSeconds returns the CPU time of a process.
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

// ResidentBytes returns the current memory of a process.
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
