package registration

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockFile is held by the agent that runs. The kernel drops the lock when the process
// ends, however it ends.
const lockFile = "agent.lock"

// ErrInUse : another agent runs with the state directory.
var ErrInUse = errors.New("the state directory is in use by another agent")

// Lock has one agent alone run with a state directory, until Close.
func Lock(stateDir string) (io.Closer, error) {
	s := state{dir: stateDir}
	if err := os.MkdirAll(stateDir, dirMode); err != nil {
		return nil, s.unusable(err)
	}
	file, err := os.OpenFile(s.path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, s.unusable(err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: stop the one that runs with %q first, or give another --state-dir", ErrInUse, stateDir)
		}
		return nil, s.unusable(err)
	}
	return file, nil
}
