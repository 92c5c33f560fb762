// Command agent applies the Works of a hub in its cluster. It connects to the hub; nothing connects to it
// over the network.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"fairlead.dev/agent/cli"
	"fairlead.dev/common/logging"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt) //nolint:forbidigo // This is main.
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	logging.Quiet()
	return cli.Run(ctx, cli.Environment{Out: os.Stdout, Err: os.Stderr, SetLogger: logging.Install}, os.Args[1:])
}
