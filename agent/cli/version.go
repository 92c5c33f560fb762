package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/common/version"
)

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case outputText:
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "agent", version.Of())
				return err
			case outputJSON:
				return json.NewEncoder(cmd.OutOrStdout()).Encode(version.Of())
			default:
				return fmt.Errorf("--output is %q; it must be %s or %s", output, outputText, outputJSON)
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", outputText, outputText+" or "+outputJSON)
	return cmd
}
