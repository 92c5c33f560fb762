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
	return cli.Run(ctx, cli.Environment{
		Out: os.Stdout, Err: os.Stderr, Random: rand.Reader, Clock: clock.RealClock{},
		SetLogger: logging.Install, Getenv: os.Getenv,
	}, os.Args[1:])
}
