package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"k8s.io/utils/clock"
)

// Environment is what the subcommands have of the outside world.
type Environment struct {
	// Out is for results, Err for everything else.
	Out, Err io.Writer
	// Random is a source of random bytes that is fit for secrets.
	Random io.Reader
	// Clock is the time.
	Clock clock.WithTicker
	// SetLogger makes a logger that of the whole process.
	SetLogger func(logr.Logger)
	// Getenv reads an environment variable.
	Getenv func(string) string
}

// Run runs the subcommand that the arguments name, and returns the exit status.
func Run(ctx context.Context, env Environment, args []string) int {
	cmd := newRoot(env)
	cmd.SetArgs(args)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	if err := cmd.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintf(env.Err, "Error: %v\n", err)
		return 1
	}
	return 0
}

func newRoot(env Environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "hub",
		Short: "Lead work out to Kubernetes clusters that nobody can reach from outside",
		Long: "The hub decides which cluster runs what, from ordinary Kubernetes objects and the policies beside them.\n" +
			"Clusters join with a token; their agents dial the hub, never the other way round.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(newServe(env), newToken(env), newExplain(env), newVersion(env))
	group(root)
	return root
}

// group makes a command that only has subcommands say so when it is given something
// else.
func group(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("unknown command %q; see `%s --help`", args[0], cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// noArguments refuses arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q; see `%s --help`", args[0], cmd.CommandPath())
}
