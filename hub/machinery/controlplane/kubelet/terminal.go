package kubelet

import (
	"errors"
	"io"
	"os/exec"
	"syscall"

	"github.com/creack/pty"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// runOnTerminal runs a program on a new terminal.
func (p *pods) runOnTerminal(cmd *exec.Cmd, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) error {
	terminal, tty, err := pty.Open()
	if err != nil {
		return err
	}
	defer func() { _ = terminal.Close() }()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = ownSession()
	if err := p.forker.Start(cmd); err != nil {
		return errors.Join(err, tty.Close())
	}
	if err := tty.Close(); err != nil {
		return err
	}
	go drain(resize, func(size remotecommand.TerminalSize) {
		_ = pty.Setsize(terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
	})
	if in != nil {
		go func() {
			_, _ = io.Copy(terminal, in)
			// The user has disconnected, which a hangup signals.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
		}()
	}
	// It ends with EIO when the last program has closed the terminal, or at once if nobody reads the output.
	if _, err := io.Copy(out, terminal); err != nil && !errors.Is(err, syscall.EIO) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
	}
	return cmd.Wait()
}
