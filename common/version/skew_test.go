package version

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

func TestWhichAgentsAHubWorksWith(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hub, agent string
		want       types.GomegaMatcher
	}{
		"the same":              {"v1.4.0", "v1.4.0 0123456789ab", BeEmpty()},
		"two minor versions":    {"v1.4.9", "v1.2.0", BeEmpty()},
		"three":                 {"v1.4.0", "v1.1.9", ContainSubstring("too old")},
		"a major version":       {"v2.0.0", "v1.9.0", ContainSubstring("too old")},
		"a newer patch":         {"v1.4.0", "v1.4.1", BeEmpty()},
		"a newer minor version": {"v1.4.0", "v1.5.0", ContainSubstring("upgrade the hub")},
		"a newer major version": {"v1.4.0", "v2.0.0-rc.1", ContainSubstring("upgrade the hub")},
		"made of a commit":      {"v1.4.0", "v0.0.0-20261122070000-abd97cb01234", BeEmpty()},
		"a hub of a commit":     {"(devel)", "v1.4.0", BeEmpty()},
		"nothing":               {"v1.4.0", "", BeEmpty()},
		"nonsense":              {"v1.4.0", "very new", BeEmpty()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Skew(c.hub, c.agent)).To(c.want)
		})
	}
}
