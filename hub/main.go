// Command hub decides which cluster runs what. `hub serve` runs it; the other
// subcommands are for its operators.
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
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	logging.Quiet()
	return cli.Run(ctx, cli.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Random: rand.Reader, Clock: clock.RealClock{},
		SetLogger: logging.Install, Getenv: os.Getenv, Terminal: onTerminal(), Color: inColor(),
	}, os.Args[1:])
}

// onTerminal says whether results go to a terminal.
func onTerminal() bool {
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// inColor says whether results go to a terminal whose user has not asked for none
// (NO_COLOR) and that can show any.
func inColor() bool {
	return onTerminal() && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
