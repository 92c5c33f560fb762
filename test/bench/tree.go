package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// running is a process of this machine.
type running struct {
	pid  int
	args []string
}

// component is the part of the control plane that a process is: its first argument.
func (r running) component() string {
	if len(r.args) < 2 {
		return ""
	}
	return r.args[1]
}

// tree has the children of each process.
type tree map[int][]running

// processTree reads all processes.
func processTree() (tree, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	t := tree{}
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
		t[parent] = append(t[parent], running{pid: pid, args: strings.Split(string(line), "\x00")})
	}
	return t, nil
}

// below returns the children of a process, their children and so on.
func (t tree) below(pid int) []running {
	var out []running
	for _, child := range t[pid] {
		out = append(out, child)
		out = append(out, t.below(child.pid)...)
	}
	return out
}
