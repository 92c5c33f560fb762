//go:build !linux

package apiserver

import "syscall"

// ChildAttributes put the embedded API, or a command of its program, into a process group of its own, so that Ctrl-C in a
// terminal reaches the hub alone and the order of the shutdown is kept.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
