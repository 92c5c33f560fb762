package apiserver

import "syscall"

// attributes put the embedded API into a process group of its own, so that Ctrl-C in a
// terminal reaches the hub alone and the order of the shutdown is kept; and have the
// kernel stop it when the hub is gone, however it went.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
