package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces the file at path by data. The file is readable by its owner only, and it is on disk when Write
// returns, so that a crash leaves the old content or the new one.
func Write(path string, data []byte) error {
	// CreateTemp makes files with mode 0600, which is what keys need and what the rest can live with.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("creating a temporary file for %q: %w", path, err)
	}
	err = fill(tmp, data)
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}

func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
