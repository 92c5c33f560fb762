package book

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// command returns what a unit of systemd starts, by its file and its drop-ins, as systemd reads them: a later variable replaces an earlier
// one, ${X} is one word and $X as many as it has.
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

// set takes over assignments of a line: one in quotes, or several between blanks.
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
