package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The interval and the timeout of the retries of Remove.
const (
	removeAgain   = 20 * time.Millisecond
	removeTimeout = 10 * time.Second
)

// Spec describes a program to run.
type Spec struct {
	// Executable is the path of the program.
	Executable string
	Args       []string
	// Dir is the working directory; that of this process if empty.
	Dir string
	// Env is added to the environment of this process, each as NAME=VALUE.
	Env []string
	// Log is the file that the output is appended to.
	Log string
	// Detached lets the process outlive this one.
	Detached bool
}

// Process is a running program that this process started.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// forks receives the commands to start. The kernel sends a child its parent death signal when the thread that forked it
// ends, so all are started by a goroutine that never returns and is locked to its thread.
var forks = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// Start starts a program.
func Start(s Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(s.Log), 0o700); err != nil {
		return nil, fmt.Errorf("making a directory for logs: %w", err)
	}
	out, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = out.Close() }() // the child has its own

	// Not CommandContext: the process runs until it is stopped.
	cmd := exec.Command(s.Executable, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attached()
	if s.Detached {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	started := make(chan error, 1)
	forks() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %q: %w", s.Executable, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // only the exit matters; the log says why
		close(p.done)
	}()
	return p, nil
}

// PID returns the ID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has exited.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill kills the process.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails if it is gone already
	<-p.done
}

// Remove removes the files of killed processes, and retries because their children end a moment later, and may write
// until then. It returns the error of the last attempt.
func Remove(dir string) error {
	var last error
	err := wait.PollUntilContextTimeout(context.Background(), removeAgain, removeTimeout, true, func(context.Context) (bool, error) {
		last = os.RemoveAll(dir)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("removing what was written to %q: %w", dir, last)
	}
	return nil
}
