package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// onOneFileSystem says whether two directories are on the same file system, so that one failure takes both. For a
// directory that does not exist, its nearest existing parent counts.
func onOneFileSystem(a, b string) bool {
	first, second := statNearest(a), statNearest(b)
	return first != nil && second != nil && first.Dev == second.Dev
}

// statNearest returns the stat of a directory or its nearest existing parent; nil if it cannot be read.
func statNearest(path string) *syscall.Stat_t {
	for {
		info, err := os.Stat(path)
		if err == nil {
			out, _ := info.Sys().(*syscall.Stat_t)
			return out
		}
		if above := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && above != path {
			path = above
			continue
		}
		return nil
	}
}
