package process

import "syscall"

// attached makes the kernel kill the child when the thread that forked it ends.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
