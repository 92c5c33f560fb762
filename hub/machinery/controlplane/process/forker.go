package process

import (
	"os/exec"
	"runtime"
)

// Forker starts all processes from one operating system thread. The kernel sends a child its parent death signal when
// the *thread* that forked it ends, and the Go runtime may end any thread except that of a goroutine which is locked to
// it and never returns.
type Forker chan func()

// NewForker returns a Forker whose thread lasts as long as this process.
func NewForker() Forker {
	f := make(Forker)
	go func() {
		runtime.LockOSThread()
		for job := range f {
			job()
		}
	}()
	return f
}

// Start starts a process like cmd.Start.
func (f Forker) Start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	f <- func() { result <- cmd.Start() }
	return <-result
}
