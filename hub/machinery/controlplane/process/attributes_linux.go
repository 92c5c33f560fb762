package process

import "syscall"

// attributes put a child into a process group of its own, so that Ctrl-C in a terminal reaches the supervisor alone
// and the order of the shutdown is kept.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
