package conversion

import (
	"maps"
	"slices"
	"strings"
)

// Member is a cluster that shall join the hub.
type Member struct {
	Name             string
	Labels           map[string]string
	Region, Provider string
	Zones            []string
}

// TokenCommand returns the command that creates a join token for a member, quoted for a shell.
func TokenCommand(m Member) string {
	command := []string{"hub token create --cluster", quoted(m.Name)}
	if len(m.Labels) > 0 {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
			pairs = append(pairs, key+"="+m.Labels[key])
		}
		command = append(command, "--labels", quoted(strings.Join(pairs, ",")))
	}
	if m.Region != "" {
		command = append(command, "--region", quoted(m.Region))
	}
	for _, zone := range m.Zones {
		command = append(command, "--zone", quoted(zone))
	}
	if m.Provider != "" {
		command = append(command, "--provider", quoted(m.Provider))
	}
	return strings.Join(command, " ")
}

// quoted quotes a word for a shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
