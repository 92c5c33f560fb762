package datadir

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"testing"
)

func TestWhetherADiskCheckFreeSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := CheckFreeSpace(dir, 1); err != nil {
		t.Errorf("CheckFreeSpace(1 byte) = %v", err)
	}
	for _, size := range []int64{1 << 60, math.MaxInt64} {
		if err := CheckFreeSpace(dir, size); !errors.Is(err, ErrDiskFull) {
			t.Errorf("CheckFreeSpace(%d bytes) = %v, want ErrDiskFull", size, err)
		}
	}
	if err := CheckFreeSpace(filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CheckFreeSpace() of no directory = %v", err)
	}
}
