package process

import (
	"os/exec"
	"runtime"
)

// forker starts all processes from one operating system thread. The kernel sends a child its parent death signal when
// the *thread* that forked it ends, and the Go runtime ends threads as it likes, except the one of a goroutine that is
// locked to it and never returns.
type forker chan func()

func newForker() forker {
	f := make(forker)
	go func() {
		runtime.LockOSThread()
		for job := range f {
			job()
		}
	}()
	return f
}

func (f forker) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	f <- func() { result <- cmd.Start() }
	return <-result
}
