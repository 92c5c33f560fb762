package admit

import (
	"fmt"
	"slices"
	"strings"
)

// most is how many clusters a message names.
const most = 5

// list names clusters, with their reasons.
func list(members []*member) string {
	var out []string
	for _, m := range members {
		reason := m.now.reason
		if reason == "" {
			reason = string(m.now.state)
		}
		out = append(out, m.name+" ("+reason+")")
	}
	return shortened(out)
}

// shortened returns a list of the first few, with the number of the others.
func shortened(all []string) string {
	out := slices.Clone(all[:min(len(all), most)])
	if n := len(all) - most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

func clustersAre(n int) string { return clusters(n) + " " + isAre(n) }

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
