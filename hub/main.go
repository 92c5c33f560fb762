// Command hub is the control plane of Fairlead: it decides which cluster runs what. `hub serve` runs it; the other subcommands are for its
// operators.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/utils/clock"

	"fairlead.dev/common/logging"
	"fairlead.dev/hub/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt) //nolint:forbidigo // this is main
	// Unregister the handler after the first signal, so that a second one kills the process.
	context.AfterFunc(ctx, stop)
	logging.Quiet()
	return cli.Run(ctx, cli.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Random: rand.Reader, Clock: clock.RealClock{},
		SetLogger: logging.Install, Getenv: os.Getenv, Terminal: onTerminal(), Color: inColor(),
	}, os.Args[1:])
}

// onTerminal returns whether stdout is a terminal.
func onTerminal() bool {
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// inColor returns whether output is colored: stdout is a terminal that supports colors (TERM is not dumb), and NO_COLOR is not set.
func inColor() bool {
	return onTerminal() && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
