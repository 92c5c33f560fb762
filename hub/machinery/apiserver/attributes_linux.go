package apiserver

import "syscall"

// ChildAttributes put the embedded API, or a command of its program, into a process group of its own, so that Ctrl-C in a
// terminal reaches the hub alone and the order of the shutdown is kept; and have the
// kernel stop it when the hub is gone, however it went: when the thread ends that forked it, which whoever starts it keeps for so long.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
