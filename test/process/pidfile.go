package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// PIDFile identifies a detached process. It contains the process ID and the start time, so that a later process with
// the same ID is not mistaken for it.
type PIDFile string

// Write records a running process.
func (f PIDFile) Write(pid int) error {
	started, err := startTime(pid)
	if err != nil {
		return err
	}
	if err := os.WriteFile(string(f), fmt.Appendf(nil, "%d %s\n", pid, started), 0o600); err != nil {
		return fmt.Errorf("writing a pid file: %w", err)
	}
	return nil
}

// PID returns the ID of the process, or 0 if it does not run.
func (f PIDFile) PID() (int, error) {
	data, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading a pid file: %w", err)
	}
	first, started, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	pid, err := strconv.Atoi(first)
	if err != nil || pid <= 0 || started == "" {
		return 0, nil //nolint:nilerr // truncated by a crash: an unknown process
	}
	if now, err := startTime(pid); err != nil || now != started {
		return 0, nil //nolint:nilerr // a process that cannot be inspected is not ours
	}
	return pid, nil
}

const stopPoll = 20 * time.Millisecond

// Stop sends SIGTERM to the process, kills it after the grace period, and removes the file.
func (f PIDFile) Stop(ctx context.Context, grace time.Duration) error {
	for _, step := range []struct {
		signal  syscall.Signal
		timeout time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 10 * time.Second}} {
		pid, err := f.PID()
		if err != nil {
			return err
		}
		if pid == 0 {
			return f.remove()
		}
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("sending %s to process %d: %w", step.signal, pid, err)
		}
		err = wait.PollUntilContextTimeout(ctx, stopPoll, step.timeout, true, func(context.Context) (bool, error) {
			pid, err := f.PID()
			return pid == 0, err
		})
		if err == nil {
			return f.remove()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("the process of %q does not end", string(f))
}

// Kill kills the process, as a crash would, and keeps the file. It returns when its descendants are gone as well: until
// the kernel has killed them, they still answer requests.
func (f PIDFile) Kill(ctx context.Context) error {
	pid, err := f.PID()
	if err != nil || pid == 0 {
		return err
	}
	all := map[int]string{}
	for _, pid := range append(descendants(pid), pid) {
		if started, err := startTime(pid); err == nil {
			all[pid] = started
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing process %d: %w", pid, err)
	}
	return wait.PollUntilContextTimeout(ctx, stopPoll, time.Minute, true, func(context.Context) (bool, error) {
		maps.DeleteFunc(all, func(pid int, before string) bool {
			started, err := startTime(pid)
			return err != nil || started != before
		})
		return len(all) == 0, nil
	})
}

// Signal sends a signal to the process and its descendants; with SIGSTOP they behave like a machine that hangs.
func (f PIDFile) Signal(signal syscall.Signal) error {
	pid, err := f.PID()
	if err != nil || pid == 0 {
		return errors.Join(err, fmt.Errorf("sending %s: %q does not run", signal, string(f)))
	}
	for _, pid := range append(descendants(pid), pid) {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("sending %s to process %d: %w", signal, pid, err)
		}
	}
	return nil
}

func (f PIDFile) remove() error {
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a pid file: %w", err)
	}
	return nil
}

var errGone = errors.New("no such process")

// startTime returns a text that differs between any two processes with the same ID, for a running process.
func startTime(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return psStartTime(pid)
	}
	// The name, in parentheses, may contain anything; after it come the state, 18 more fields, and the start time in
	// ticks since boot.
	_, rest, _ := cutLast(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "X" || fields[0] == "Z" && !hasThreads(pid) {
		return "", errGone
	}
	return fields[19], nil
}

// hasThreads returns whether a process whose first thread has ended still has other ones. They keep its files open, and
// with them its locks: of a process that is killed, each thread ends when it is next scheduled.
func hasThreads(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) > 1
}

// descendants returns all descendants of a process; none on systems without /proc.
func descendants(pid int) []int {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(data)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(append(out, child), descendants(child)...)
			}
		}
	}
	return out
}

// psStartTime is the start time on systems without /proc.
func psStartTime(pid int) (string, error) {
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return "", errGone
	}
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if started := strings.TrimSpace(string(out)); err == nil && started != "" {
		return started, nil
	}
	return "", errGone
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
