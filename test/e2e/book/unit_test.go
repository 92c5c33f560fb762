package book

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// command returns the command of a systemd unit, from its file and drop-ins, as systemd reads them: later variables
// replace earlier ones, ${X} is one word, and $X is split into words.
func command(units, name string) ([]string, error) {
	dropIns, err := filepath.Glob(filepath.Join(units, name+".service.d", "*.conf"))
	if err != nil {
		return nil, fmt.Errorf("looking for drop-ins: %w", err)
	}
	slices.Sort(dropIns)
	start, variables := "", map[string]string{}
	for _, file := range append([]string{filepath.Join(units, name+".service")}, dropIns...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a unit: %w", err)
		}
		for line := range strings.Lines(string(data)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key {
			case "ExecStart":
				start = value
			case "Environment":
				set(variables, value)
			}
		}
	}
	var out []string
	for word := range strings.FieldsSeq(start) {
		if name, ok := strings.CutPrefix(word, "$"); ok && !strings.HasPrefix(name, "{") {
			out = append(out, strings.Fields(variables[name])...)
			continue
		}
		out = append(out, os.Expand(word, func(name string) string { return variables[name] }))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("unit %s starts nothing", name)
	}
	return out, nil
}

// set parses the assignments of a line: one in quotes, or several separated by blanks.
func set(variables map[string]string, line string) {
	assignments := strings.Fields(line)
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		assignments = []string{strings.TrimSuffix(quoted, `"`)}
	}
	for _, assignment := range assignments {
		name, value, _ := strings.Cut(assignment, "=")
		variables[name] = value
	}
}
