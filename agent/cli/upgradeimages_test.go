package cli

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

// TestNoImagesForUpgradesAreNone holds that the hub may upgrade nothing when the list of repositories is empty, as an empty list of namespaces
// or kinds is none.
func TestNoImagesForUpgradesAreNone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"nothing is said": {want: []string{"r.example/agent"}},
		"none":            {args: []string{"--upgrade-images", "none"}},
		"an empty list":   {args: []string{"--upgrade-images", ""}},
		"another one":     {args: []string{"--upgrade-images", "r.example/mirror/"}, want: []string{"r.example/mirror/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var f installFlags
			flags := pflag.NewFlagSet("join", pflag.ContinueOnError)
			f.add(flags)
			g.Expect(flags.Parse(append([]string{"--install", "--image", "r.example/agent:v1"}, tc.args...))).To(Succeed())
			g.Expect(f.validate(false)).To(Succeed())
			g.Expect(f.options("").UpgradeImages).To(Equal(tc.want))
		})
	}
}
