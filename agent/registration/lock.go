package registration

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"fairlead.dev/common/atomicfile"
	"fairlead.dev/common/filelock"
)

// lockFile is held by the agent that runs.
const lockFile = "agent.lock"

// ErrInUse means that another agent runs with the state directory.
var ErrInUse = errors.New("the state directory is in use by another agent")

// Lock ensures that only one agent runs with a state directory, until Close. It removes temporary files of a killed
// process: they may contain a key, and nobody reads them.
func Lock(stateDir string) (io.Closer, error) {
	s := state{dir: stateDir}
	if err := os.MkdirAll(stateDir, dirMode); err != nil {
		return nil, s.unusable(err)
	}
	file, err := filelock.Take(s.path(lockFile))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("%w: stop the agent that runs with %q first, or give another --state-dir", ErrInUse, stateDir)
	}
	if err != nil {
		return nil, s.unusable(err)
	}
	if err := s.removeBegun(); err != nil {
		_ = file.Close() // report the first error, not this one
		return nil, err
	}
	return file, nil
}

// removeBegun removes temporary files of a killed process. The caller holds the lock.
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
