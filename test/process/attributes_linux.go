package process

import "syscall"

// attached has the kernel end the child with the thread that forked it.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
