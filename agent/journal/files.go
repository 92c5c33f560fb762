package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// directoryMode hides the journal from other users: a Work may contain Secrets.
	directoryMode = 0o700
	// suffix ends the names of the files that hold Works.
	suffix = ".work"
	// aside is the directory for unusable files.
	aside = "set-aside"
	// maxAside bounds how many unusable files are kept.
	maxAside = 10
	// readableName is how many characters of a Work's name its file name starts with.
	readableName = 100
)

// fileOf returns the file name of a Work: the start of the Work's name, for people, and a hash that makes it unique.
func fileOf(work string) string {
	sum := sha256.Sum256([]byte(work))
	return work[:min(len(work), readableName)] + "-" + hex.EncodeToString(sum[:8]) + suffix
}

// setAside moves an unusable file to the directory aside and removes the oldest files there.
func setAside(directory, name string) error {
	place := filepath.Join(directory, aside)
	if err := os.MkdirAll(place, directoryMode); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(directory, name), filepath.Join(place, name)); err != nil {
		// A file that cannot be moved is removed, so that the next start does not read it either.
		return errors.Join(err, os.RemoveAll(filepath.Join(directory, name)))
	}
	return trimSetAside(place)
}

func trimSetAside(place string) error {
	entries, err := os.ReadDir(place)
	if err != nil || len(entries) <= maxAside {
		return err
	}
	when := func(e fs.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Compare(fmt.Sprintf("%020d", when(a)), fmt.Sprintf("%020d", when(b)))
	})
	for _, e := range entries[:len(entries)-maxAside] {
		if err := os.RemoveAll(filepath.Join(place, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
