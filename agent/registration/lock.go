package registration

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"fairlead.dev/common/atomicfile"
)

// lockFile is held by the agent that runs. The kernel drops the lock when the process
// ends, however it ends.
const lockFile = "agent.lock"

// ErrInUse : another agent runs with the state directory.
var ErrInUse = errors.New("the state directory is in use by another agent")

// Lock has one agent alone run with a state directory, until Close. What one that was killed had begun to write there is removed: it may be a
// key, and nobody reads it.
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
	if err := s.removeBegun(); err != nil {
		_ = file.Close() // the first error is the one to tell
		return nil, err
	}
	return file, nil
}

// removeBegun removes what was begun to be written, by a process that was killed then. Nobody may write meanwhile.
func (s state) removeBegun() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.unusable(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), atomicfile.Temporary) {
			if err := s.remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
