package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// ShrinkingMark is the path of a file that exists while the database is defragmented, and after an interrupted
// defragmentation.
func (d *Dir) ShrinkingMark() string { return filepath.Join(d.root, "shrinking") }

// IsShrinking says whether a defragmentation was started and not finished.
func (d *Dir) IsShrinking() bool {
	_, err := os.Stat(d.ShrinkingMark())
	return err == nil
}

// BeginShrinking creates the mark.
func (d *Dir) BeginShrinking() error {
	return atomicfile.Write(d.ShrinkingMark(), []byte("The file of the database is being made smaller.\n"))
}

// EndShrinking removes the mark if it exists.
func (d *Dir) EndShrinking() error {
	if err := os.Remove(d.ShrinkingMark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("noting that the file of the database was made smaller: %w", err)
	}
	return nil
}
