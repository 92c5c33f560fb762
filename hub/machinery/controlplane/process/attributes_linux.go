package process

import "syscall"

// attributes puts a child into its own process group, so that Ctrl-C in a terminal reaches only the supervisor and the
// order of the shutdown is kept. The kernel kills the child when this process ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
