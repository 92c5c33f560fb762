// Command pool runs a command whose tests share hubs: each package that wants the hub of its tests to itself borrows one, and gives it back
// as it was. All hubs end with the command.
//
//	go run ./test/cluster/pool go test ./hub/...
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"fairlead.dev/test/cluster"
)

func main() {
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// run returns the exit status of the command.
func run(line []string) (status int, err error) {
	if len(line) == 0 {
		return 2, errors.New("usage: pool COMMAND...")
	}
	dir, err := os.MkdirTemp("/tmp", "fairlead-pool-") // a socket wants a short path
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "socket")
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		return 1, err
	}
	lending, end := context.WithCancel(context.Background())
	defer end()
	served := make(chan error, 1)
	go func() { served <- cluster.NewPool().Serve(lending, listener) }()
	// A terminal tells the command as well; who ends this process alone means both.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...) //nolint:gosec // It is what the user wants to run.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), cluster.PoolEnv+"="+socket)
	ran := cmd.Run()
	end() // nobody borrows what is being started or made what it was
	err = errors.Join(listener.Close(), <-served)
	var exit *exec.ExitError
	switch {
	case errors.As(ran, &exit):
		return max(exit.ExitCode(), 1), err
	case ran != nil:
		return 1, errors.Join(ran, err)
	}
	return 0, err
}
