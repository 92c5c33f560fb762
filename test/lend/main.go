// Command lend runs the tests of many packages, and lends them the hubs that the tests of each package share:
//
//	go run ./test/lend go test ./hub/flow/...
//
// It exits with the status of the command.
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
		fmt.Fprintf(os.Stderr, "lend: %v\n", err)
	}
	os.Exit(status)
}

// run returns the exit status.
func run(command []string) (int, error) {
	if len(command) == 0 {
		return 2, errors.New("no command is given; usage: go run ./test/lend COMMAND [ARGUMENT...]")
	}
	// An interrupt reaches the command as well; the hubs must be stopped after it.
	signal.Ignore(os.Interrupt)
	dir, err := os.MkdirTemp("/tmp", "fairlead-lend-")
	if err != nil {
		return 1, fmt.Errorf("making a directory for the socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // an empty directory in the worst case
	listener, err := net.Listen("unix", filepath.Join(dir, "lender.sock"))
	if err != nil {
		return 1, fmt.Errorf("listening for those who borrow: %w", err)
	}
	lender, served := cluster.Lender{Log: os.Stderr}, make(chan error, 1)
	go func() { served <- lender.Serve(context.Background(), listener) }()

	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), cluster.LenderEnv+"="+listener.Addr().String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	status, err := 0, cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		status, err = max(ended.ExitCode(), 1), nil
	}
	if err = errors.Join(err, listener.Close(), <-served); err != nil {
		status = max(status, 1)
	}
	return status, err
}
