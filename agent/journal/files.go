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
	// directoryMode keeps what is in the journal from other users: a Work may carry Secrets.
	directoryMode = 0o700
	// suffix ends the names of files that hold Works.
	suffix = ".work"
	// aside is the directory for files that cannot be used.
	aside = "set-aside"
	// maxAside bounds how many of them are kept.
	maxAside = 10
	// readableName is how many characters of the name of a Work are in the name of its file.
	readableName = 100
)

// fileOf returns the name of the file of a Work: the beginning of the Work's name, for people, and a hash that makes it unique.
func fileOf(work string) string {
	sum := sha256.Sum256([]byte(work))
	return work[:min(len(work), readableName)] + "-" + hex.EncodeToString(sum[:8]) + suffix
}

// setAside moves an unusable file to the directory aside, and removes the oldest files there.
func setAside(directory, name string) error {
	place := filepath.Join(directory, aside)
	if err := os.MkdirAll(place, directoryMode); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(directory, name), filepath.Join(place, name)); err != nil {
		// Then it must not be taken for anything at the next start either.
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
