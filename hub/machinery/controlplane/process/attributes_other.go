//go:build !linux

package process

import "syscall"

// attributes puts a child into its own process group. Without a parent death signal, which only Linux has, children
// outlive a supervisor that is killed with SIGKILL.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
