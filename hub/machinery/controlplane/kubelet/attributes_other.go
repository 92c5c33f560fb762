//go:build !linux

package kubelet

import "syscall"

// ownGroup starts a program in its own process group, so that it can be killed with its children.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownSession does the same in a new session, with the program's input as its controlling terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
