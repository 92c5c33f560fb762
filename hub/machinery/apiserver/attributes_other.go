//go:build !linux

package apiserver

import "syscall"

// ChildAttributes returns the attributes of the embedded API's process, or of a command of its program. It gets its own
// process group, so that Ctrl-C in a terminal reaches only the hub and the order of the shutdown is kept.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
