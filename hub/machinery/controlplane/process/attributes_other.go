//go:build !linux

package process

import "syscall"

// attributes put a child into a process group of its own. Without a parent death signal, which only Linux has, a child
// outlives a supervisor that was killed with SIGKILL.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
