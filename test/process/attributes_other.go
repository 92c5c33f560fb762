//go:build !linux

package process

import "syscall"

// attached is no more than a process group of its own: only Linux has a parent death
// signal.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
