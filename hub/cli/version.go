package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/common/version"
)

func newVersion(env Environment) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := output.check(); err != nil {
				return err
			}
			if !output.text() {
				return output.encode(env, version.Of())
			}
			_, err := fmt.Fprintln(env.Out, "hub", version.Of())
			return err
		},
	}
	output.add(cmd)
	return cmd
}
