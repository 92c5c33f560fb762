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

// Environment is everything outside of the process that the subcommands use.
type Environment struct {
	// In is the standard input; nil if there is none.
	In io.Reader
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
	// Terminal says that results go to a terminal, which others are not to steer; Color that they may be in colour there.
	Terminal, Color bool
	// exact is Out for what programs read, or may not be changed by a byte. Everything else
	// goes through Out and Err, which Run makes harmless to a terminal.
	exact io.Writer
}

// harmless returns the environment with an Out and an Err on which nothing that others wrote,
// such as a status that an agent reports, steers a terminal.
func (env Environment) harmless() Environment {
	var codes []string
	if env.Color {
		codes = table.Codes()
	}
	env.exact = env.Out
	env.Out, env.Err = prose.NewWriter(env.Out, codes...), prose.NewWriter(env.Err, codes...)
	return env
}

// asWritten is where what others wrote goes as they wrote it, such as logs: into files and pipes. A terminal it steers no more than
// anything else does, in colour or not.
func (env Environment) asWritten() io.Writer {
	if env.Terminal {
		return env.Out
	}
	return env.exact
}

// Run runs the subcommand that the arguments name, and returns the exit status.
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
		Short: "Lead work out to Kubernetes clusters that nobody can reach from outside",
		Long: "The hub decides which cluster runs what, from ordinary Kubernetes objects and the policies beside them.\n" +
			"Clusters join with a token; their agents dial the hub, never the other way round.\n\n" + exitHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(newServe(env), newToken(env), newClusters(env), newForget(env), newCA(env), newEncryption(env), newGet(env), newTree(env), newDiff(env), newEvents(env), newTop(env), newWait(env), newRollout(env), newExplain(env), newInterpret(env), newMigrate(env), newCordon(env), newUncordon(env), newUpgrade(env), newDashboard(env), newKubeconfig(env), newPods(env), newLogs(env), newExec(env), newBackup(env), newRestore(env), newVersion(env))
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
