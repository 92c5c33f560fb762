// Command agent makes its cluster do what a hub says. It dials the hub; nobody dials it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"fairlead.dev/common/logging"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt) //nolint:forbidigo // This is main.
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	return execute(ctx, environment{out: os.Stdout, problems: os.Stderr, setLogger: logging.Install}, os.Args[1:])
}

// environment is what a command has of its process.
type environment struct {
	// out is for results; problems for errors and the log.
	out, problems io.Writer
	// setLogger makes a logger that of every library; there is one in a process.
	setLogger func(logr.Logger)
}

// execute runs the subcommand that the arguments name, and returns the exit status.
func execute(ctx context.Context, env environment, args []string) int {
	cmd := newRoot(env)
	cmd.SetArgs(args)
	cmd.SetOut(env.out)
	cmd.SetErr(env.problems)
	if err := cmd.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintf(env.problems, "Error: %v\n", err) // there is nobody else to tell
		return 1
	}
	return 0
}

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "agent",
		Short: "Make this cluster do what a hub says",
		Long: "The agent runs beside a Kubernetes cluster, dials a hub, applies what the hub has for the cluster and reports\n" +
			"how it fares. The hub never dials the cluster.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
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
	root.AddCommand(newJoin(env), newRun(env), newLeave(), newStatus(), newVersion())
	return root
}
