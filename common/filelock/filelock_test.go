package filelock_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/filelock"
)

func TestALockIsHeldUntilItsFileIsClosed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	first, err := filelock.Take(path)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = filelock.Take(path)
	g.Expect(err).To(MatchError(filelock.ErrHeld))
	g.Expect(first.Close()).To(Succeed())
	again, err := filelock.Take(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Close()).To(Succeed())

	_, err = filelock.Take(filepath.Join(dir, "none", "lock"))
	g.Expect(err).To(MatchError(fs.ErrNotExist))
}

func TestADirectoryIsLockedItself(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	open := func() *os.File {
		d, err := os.Open(dir)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = d.Close() }) // it may be closed
		return d
	}
	first, second := open(), open()
	g.Expect(filelock.Hold(first)).To(Succeed())
	g.Expect(filelock.Hold(second)).To(MatchError(filelock.ErrHeld))
	g.Expect(first.Close()).To(Succeed())
	g.Expect(filelock.Hold(second)).To(Succeed())
}
