package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram gives the memory pages of the program's own file back to the kernel, and returns roughly how many
// bytes of address space they covered. Most of a program is needed once, at its start, and stays mapped. Only
// unmodified pages are released, so the kernel reads them from the file again when they are needed.
func releaseProgram() (int64, error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0, fmt.Errorf("finding the running program: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0, fmt.Errorf("reading what is mapped: %w", err)
	}
	var released int64
	var errs []error
	for _, m := range mappings(string(maps)) {
		if m.path != program || m.writable || m.changed {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); errno != 0 {
			errs = append(errs, fmt.Errorf("giving back %x-%x of the program: %w", m.from, m.to, errno))
			continue
		}
		released += int64(m.to - m.from)
	}
	return released, errors.Join(errs...)
}

// mapping is a range of the address space.
type mapping struct {
	from, to uintptr
	path     string
	// writable says that it may be written to, changed that it was: then it differs from the file.
	writable, changed bool
}

// mappings parses /proc/self/smaps.
func mappings(smaps string) []mapping {
	var out []mapping
	for line := range strings.Lines(smaps) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if name, ok := strings.CutSuffix(fields[0], ":"); ok {
			if len(out) > 0 && len(fields) > 1 && name == "Anonymous" && fields[1] != "0" {
				out[len(out)-1].changed = true // a modified page is anonymous memory
			}
			continue
		}
		from, to, ok := strings.Cut(fields[0], "-")
		begin, err := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if !ok || err != nil || err2 != nil || len(fields) < 5 {
			continue
		}
		m := mapping{from: uintptr(begin), to: uintptr(end), writable: strings.Contains(fields[1], "w")}
		if len(fields) > 5 {
			m.path = strings.Join(fields[5:], " ")
		}
		out = append(out, m)
	}
	return out
}
