package meter

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine that the bench ran on.
type Machine struct {
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memoryBytes"`
	CPU         string `json:"cpu"`
	OS          string `json:"os"`
	Go          string `json:"go"`
}

// ThisMachine describes the machine of this process.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryBytes = kb << 10
	}
	m.CPU = field("/proc/cpuinfo", "model name")
	return m
}

// String returns one line.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores (%s), %d GB, %s, %s", m.Cores, m.CPU, (m.MemoryBytes+1<<29)>>30, m.OS, m.Go)
}

// field returns the first value of a name in a file of /proc; empty if there is none.
func field(path, name string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
