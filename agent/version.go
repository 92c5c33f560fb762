package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
			return err
		},
	}
}

// version says what this program was built from, as far as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "agent (unknown version)"
	}
	var out strings.Builder
	out.WriteString("agent " + info.Main.Version)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			out.WriteString(" commit " + s.Value)
		}
	}
	return out.String() + " " + info.GoVersion
}
