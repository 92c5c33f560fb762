package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Temporary is the name prefix of files that are being written. One left by a killed process may be removed.
const Temporary = ".new-"

// Write replaces a file; only its owner may read the new one. When Write returns, the new file survives a power loss.
func Write(path string, content []byte) error {
	if err := Replace(path, content); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

// Replace is Write without the sync of the directory: until SyncDirectory is called, a power loss may bring the old
// file back. It is for callers that write many files in a row.
func Replace(path string, content []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), Temporary+"*") // readable by its owner only
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // report the first error, not this one
		}
	}()
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// SyncDirectory makes the names of the files in a directory survive a power loss.
func SyncDirectory(path string) error {
	directory, err := os.Open(path) //nolint:gosec // It is the caller's own.
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
