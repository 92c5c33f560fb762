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

// How often Remove tries again, and for how long.
const (
	removeAgain   = 20 * time.Millisecond
	removeTimeout = 10 * time.Second
)

// Spec says what to run.
type Spec struct {
	// Executable is the path of the program.
	Executable string
	Args       []string
	// Dir is the working directory; that of this process if empty.
	Dir string
	// Env is what the program has in its environment beside that of this process, NAME=VALUE each.
	Env []string
	// Log is the file to which output is appended.
	Log string
	// Detached lets the process outlive this one.
	Detached bool
}

// Process is a running program that this process started.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// forks takes the commands to start. The kernel sends a child its parent death signal
// when the thread that forked it ends; threads come and go, but not the one that a
// goroutine which never returns is locked to.
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

	// Not CommandContext: it lives until it is stopped.
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
		_ = cmd.Wait() // that it ended is all that counts; the log says why
		close(p.done)
	}()
	return p, nil
}

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended says whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails when it is gone already
	<-p.done
}

// Remove removes what killed processes wrote: those that they had started themselves end a
// moment later, and may write until then. Its error is that of the last attempt.
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
