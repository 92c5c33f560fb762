package datadir

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"testing"
)

func TestWhetherADiskHasRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := HasRoom(dir, 1); err != nil {
		t.Errorf("HasRoom(1 byte) = %v", err)
	}
	for _, size := range []int64{1 << 60, math.MaxInt64} {
		if err := HasRoom(dir, size); !errors.Is(err, ErrNoRoom) {
			t.Errorf("HasRoom(%d bytes) = %v, want ErrNoRoom", size, err)
		}
	}
	if err := HasRoom(filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("HasRoom() of no directory = %v", err)
	}
}
