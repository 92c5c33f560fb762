package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Running is a process of this machine.
type Running struct {
	PID  int
	args []string
}

// Component returns the component of the control plane that a process is: its first argument.
func (r Running) Component() string {
	if len(r.args) < 2 {
		return ""
	}
	return r.args[1]
}

// Tree maps each process to its children.
type Tree map[int][]Running

// ReadTree reads all processes.
func ReadTree() (Tree, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	t := Tree{}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil {
			continue
		}
		t[parent] = append(t[parent], Running{PID: pid, args: strings.Split(string(line), "\x00")})
	}
	return t, nil
}

// Below returns all descendants of a process.
func (t Tree) Below(pid int) []Running {
	var out []Running
	for _, child := range t[pid] {
		out = append(out, child)
		out = append(out, t.Below(child.PID)...)
	}
	return out
}
