package version

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Agents is how many minor versions an agent may be older than its hub.
const Agents = 2

// Skew returns advice about the versions of a hub and an agent, as a sentence; empty if they fit, or if one of them
// is not a release: who builds from commits knows which.
func Skew(hub, agent string) string {
	of, ok := release(hub)
	is, ok2 := release(agent)
	switch {
	case !ok || !ok2:
		return ""
	case is.Major() > of.Major() || is.Major() == of.Major() && is.Minor() > of.Minor():
		return fmt.Sprintf("Its agent (%s) is newer than this hub (%s), and may do less than with a hub of its own version; upgrade the hub.", is, of)
	case is.Major() < of.Major() || is.Minor()+Agents < of.Minor():
		return fmt.Sprintf("Its agent (%s) is too old for this hub (%s), which works with agents of up to %d minor versions before; see `hub upgrade agents`.", is, of, Agents)
	}
	return ""
}

// SkewOf is Skew for this program as the hub.
func SkewOf(agent string) string {
	if _, ok := release(agent); !ok {
		return "" // determining this program's own version takes a while
	}
	return Skew(Of().Version, agent)
}

// release parses a tagged version; false for a version made from a commit.
func release(text string) (*version.Version, bool) {
	text, _, _ = strings.Cut(text, " ")
	if !strings.HasPrefix(text, "v") || strings.HasPrefix(text, "v0.0.0-") {
		return nil, false
	}
	v, err := version.ParseSemantic(text)
	return v, err == nil
}
