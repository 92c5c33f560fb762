package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Out, version())
			return err
		},
	}
}

// version says what this program was built from, as far as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "hub (unknown version)"
	}
	var out strings.Builder
	out.WriteString("hub " + info.Main.Version)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			out.WriteString(" commit " + s.Value)
		}
	}
	return out.String() + " " + info.GoVersion
}
