package memory

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// goPart is the share of a container's memory for Go's heap: the rest is for memory that Go does not count, such as
// the program itself.
const goPart = 0.9

// Bound sets Go's memory limit and returns it; math.MaxInt64 if there is none. A requested quantity takes precedence,
// then a limit that is already set, as by $GOMEMLIMIT, then the given share of the limit of this process's control
// groups. root is the file system, /.
func Bound(asked string, part float64, root fs.FS) (int64, error) {
	if asked != "" {
		q, err := resource.ParseQuantity(asked)
		if err != nil || q.Value() <= 0 {
			return 0, fmt.Errorf("%q is no amount of memory; it is a quantity above 0, such as 512Mi", asked)
		}
		debug.SetMemoryLimit(q.Value())
	} else if allowed, ok := CgroupLimit(root); ok && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(int64(float64(allowed) * part * goPart))
	}
	return debug.SetMemoryLimit(-1), nil
}

// CgroupLimit returns the memory limit in bytes of this process's control groups, version 1 or 2; false if there is
// none.
func CgroupLimit(root fs.FS) (int64, bool) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	allowed := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		// hierarchy-ID:controller-list:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		at, file := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			at, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// A group is also bounded by its parents. In a container its own group is the root.
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			allowed = min(allowed, limit(root, path.Join(at, dir, file)))
			if dir == "/" {
				break
			}
		}
	}
	// Version 1 reports nearly 2^63 if there is no limit.
	return allowed, allowed < math.MaxInt64/2
}

// Available returns how many bytes this process may use: the memory of the machine, or the limit of its control
// groups if that is less; 0 if unknown.
func Available(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "MemTotal" {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0
		}
		if allowed, ok := CgroupLimit(root); ok {
			return min(kb<<10, allowed)
		}
		return kb << 10
	}
	return 0
}

// limit returns the number in a file; math.MaxInt64 if there is none.
func limit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 { // "max"
		return math.MaxInt64
	}
	return n
}
