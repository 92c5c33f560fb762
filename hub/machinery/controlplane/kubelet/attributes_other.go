//go:build !linux

package kubelet

import "syscall"

// ownGroup lets a program be killed with those that it has started.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownSession does the same, and makes the program's input its terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
