package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces the file at path by data. The file is readable by its owner only, and it is on disk when Write
// returns, so that a crash leaves the old content or the new one.
func Write(path string, data []byte) error {
	return Fill(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Fill does the same with what a function writes. If that fails the file stays as it was.
func Fill(path string, write func(io.Writer) error) error {
	// CreateTemp makes files with mode 0600, which is what keys need and what the rest can live with.
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

// SyncDir has the names of the files in a directory outlast a loss of power.
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
