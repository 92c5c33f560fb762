package version_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/version"
)

const commit = "abd97cb0123456789abcdef0123456789abcdef0"

func TestOf(t *testing.T) {
	t.Parallel()
	b := version.Of()
	NewWithT(t).Expect(b.GoVersion).To(HavePrefix("go"))
	NewWithT(t).Expect(b.Platform).To(ContainSubstring("/"))
}

func TestAVersionForPeople(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]version.Build{
		"v1.2.3 commit " + commit + " go1": {Version: "v1.2.3", Commit: commit, GoVersion: "go1"},
		"v1.2.3 go1":                       {Version: "v1.2.3", GoVersion: "go1"},
	} {
		NewWithT(t).Expect(b.String()).To(Equal(want))
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]version.Build{
		"v1.2.3 abd97cb01234":                {Version: "v1.2.3", Commit: commit},
		"v1.2.3":                             {Version: "v1.2.3"},
		"v0.0.0-20261121124944-abd97cb01234": {Version: "v0.0.0-20261121124944-abd97cb01234", Commit: commit},
		strings.Repeat("v", 64):              {Version: strings.Repeat("v", 100)},
	} {
		NewWithT(t).Expect(b.Short()).To(Equal(want))
	}
}
