package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// A shell's exit statuses for programs that do not exist, are not executable, or were killed.
const (
	statusNotFound      = 127
	statusNotExecutable = 126
	statusKilled        = 128
)

// ExecInContainer runs a program of this machine in the directory of a container, with the path of the container's log
// in the variable LOG. The program is killed when the context ends.
func (p *pods) ExecInContainer(ctx context.Context, pod, _, name string, command []string, in io.Reader, out, diagnosis io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	c, err := p.container(pod, name)
	if err != nil {
		return err
	}
	if len(command) == 0 {
		return errors.New("there is no command to run")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // executing given commands is its purpose, and why it is for tests only
	cmd.Dir = c.dir
	_, host, _ := strings.Cut(pod, "/")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "HOSTNAME=" + host, "LOG=" + c.log, "TERM=xterm"}
	// A program may leave children behind that hold its output open.
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if tty {
		err = p.runOnTerminal(cmd, in, out, resize)
	} else {
		err = p.run(cmd, in, out, diagnosis)
	}
	return outcome(command[0], err)
}

// run copies between the program and the streams. It does not wait for input that the program no longer reads.
func (p *pods) run(cmd *exec.Cmd, in io.Reader, out, diagnosis io.Writer) error {
	cmd.SysProcAttr = ownGroup()
	if out != nil {
		cmd.Stdout = out
	}
	if diagnosis != nil {
		cmd.Stderr = diagnosis
	}
	if in == nil {
		if err := p.forker.Start(cmd); err != nil {
			return err
		}
		return cmd.Wait()
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := p.forker.Start(cmd); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(pipe, in)
		_ = pipe.Close()
	}()
	return cmd.Wait()
}

// outcome converts an error to the form in which an exit status is transmitted.
func outcome(program string, err error) error {
	var exited *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.As(err, &exited):
		code := exited.ExitCode()
		if status, ok := exited.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = statusKilled + int(status.Signal())
		}
		return utilexec.CodeExitError{Err: fmt.Errorf("%s: %w", program, err), Code: code}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return utilexec.CodeExitError{Err: fmt.Errorf("%s: %w", program, err), Code: statusNotFound}
	case errors.Is(err, os.ErrPermission):
		return utilexec.CodeExitError{Err: fmt.Errorf("%s: %w", program, err), Code: statusNotExecutable}
	default:
		return err
	}
}

// AttachContainer simulates a container that writes its input to its output and its log.
func (p *pods) AttachContainer(ctx context.Context, pod, _, name string, in io.Reader, out, _ io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize) error {
	c, err := p.container(pod, name)
	if err != nil {
		return err
	}
	go drain(resize, func(remotecommand.TerminalSize) {})
	if in != nil {
		log, err := os.OpenFile(c.log, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		to := io.Writer(log)
		if out != nil {
			to = io.MultiWriter(log, out)
		}
		_, err = io.Copy(to, in)
		return err
	}
	log, err := os.Open(c.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if _, err := log.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	p.follow(ctx, out, log)
	return nil
}

// drain passes on values until the channel is closed; it ignores a nil channel.
func drain(resize <-chan remotecommand.TerminalSize, use func(remotecommand.TerminalSize)) {
	if resize == nil {
		return
	}
	for size := range resize {
		use(size)
	}
}
