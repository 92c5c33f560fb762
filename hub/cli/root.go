package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/cli/table"
)

// Environment is what the subcommands use of the outside world.
type Environment struct {
	// In is the standard input; nil if there is none.
	In io.Reader
	// Out is for results, and Err for everything else.
	Out, Err io.Writer
	// Random is a cryptographically secure source.
	Random io.Reader
	// Clock is the clock.
	Clock clock.WithTicker
	// SetLogger sets the logger of the process.
	SetLogger func(logr.Logger)
	// Getenv reads an environment variable.
	Getenv func(string) string
	// Terminal says that Out is a terminal, which output of others must not control; Color says that output may be
	// coloured.
	Terminal, Color bool
	// exact is the unfiltered Out, for output that is read by programs or must not change by a byte. Everything else
	// goes through Out and Err, which Run filters for terminals.
	exact io.Writer
}

// harmless returns the environment with Out and Err filtered, so that texts of others, such as a status that an agent
// reported, cannot control a terminal.
func (env Environment) harmless() Environment {
	var codes []string
	if env.Color {
		codes = table.Codes()
	}
	env.exact = env.Out
	env.Out, env.Err = prose.NewWriter(env.Out, codes...), prose.NewWriter(env.Err, codes...)
	return env
}

// asWritten returns the writer for texts of others that should stay unchanged, such as logs: unfiltered for files and
// pipes, and filtered for a terminal.
func (env Environment) asWritten() io.Writer {
	if env.Terminal {
		return env.Out
	}
	return env.exact
}

// Run runs a subcommand, and returns the exit status.
func Run(ctx context.Context, env Environment, args []string) int {
	env = env.harmless()
	cmd := newRoot(env)
	cmd.SetArgs(args)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	_, _ = fmt.Fprintf(env.Err, "Error: %v\n", advise(err))
	return exitOf(err)
}

func newRoot(env Environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "hub",
		Short: "Run workloads in Kubernetes clusters that nobody can reach from outside",
		Long: "The hub decides which cluster runs what, from ordinary Kubernetes objects and the policies beside them.\n" +
			"Clusters join with a token; their agents dial the hub, never the other way round.\n\n" + exitHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(newServe(env), newToken(env), newClusters(env), newForget(env), newCA(env), newEncryption(env), newGet(env), newTree(env), newDiff(env), newEvents(env), newTop(env), newWait(env), newRollout(env), newExplain(env), newInterpret(env), newMigrate(env), newCordon(env), newUncordon(env), newUpgrade(env), newDashboard(env), newKubeconfig(env), newPods(env), newLogs(env), newExec(env), newBackup(env), newRestore(env), newProfile(env), newVersion(env))
	group(root)
	return root
}

// group makes a command with only subcommands reject anything else.
func group(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("unknown command %q; see `%s --help`", args[0], cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// noArguments rejects arguments other than flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q; see `%s --help`", args[0], cmd.CommandPath())
}
