package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces the content of a file. The file is readable by its owner only, and is on disk when Write returns, so
// after a crash it has either the old or the new content.
func Write(path string, data []byte) error {
	return Fill(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Fill replaces the content of a file with what a function writes. If that fails, the file is unchanged.
func Fill(path string, write func(io.Writer) error) error {
	// CreateTemp creates files with mode 0600, which keys need and other files can have.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("creating a temporary file for %q: %w", path, err)
	}
	err = write(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if closing := tmp.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir syncs a directory, so that the names of its files survive a power failure.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening %q: %w", path, err)
	}
	defer func() { _ = dir.Close() }()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("writing %q to disk: %w", path, err)
	}
	return nil
}
