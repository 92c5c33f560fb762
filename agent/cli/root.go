package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
)

// Environment provides the output streams and the logger of the process.
type Environment struct {
	// Out is for results; Err for errors and the log.
	Out, Err io.Writer
	// SetLogger installs a logger for all libraries; the process has only one.
	SetLogger func(logr.Logger)
}

// Run runs the subcommand that the arguments name, and returns the exit status.
func Run(ctx context.Context, env Environment, args []string) int {
	cmd := newRoot(env)
	cmd.SetArgs(args)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	if err := cmd.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintf(env.Err, "Error: %v\n", err) // there is nowhere else to report an error
		return 1
	}
	return 0
}

func newRoot(env Environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "agent",
		Short: "Apply to this cluster what a hub sends to it",
		Long: "The agent runs beside a Kubernetes cluster, dials a hub, applies the objects that the hub has for the cluster and reports\n" +
			"their status. The hub never dials the cluster.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("unknown command %q; see `%s --help`", args[0], cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(newJoin(env), newRun(env), newGuard(env), newOperators(), newLeave(), newStatus(), newVersion())
	completeFlags(root)
	return root
}
