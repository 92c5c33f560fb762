package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/atomicfile"
)

func TestAFileIsReplacedAsAWholeAndIsItsOwners(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "key")
	for _, content := range []string{"first, which is long", "second"} {
		g.Expect(atomicfile.Write(path, []byte(content))).To(Succeed())
		g.Expect(os.ReadFile(path)).To(Equal([]byte(content)))
	}
	info, err := os.Stat(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	g.Expect(os.ReadDir(filepath.Dir(path))).To(HaveLen(1), "nothing is left beside it")
}

func TestWhatCannotBeWrittenLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	g.Expect(os.MkdirAll(filepath.Join(path, "by a directory"), 0o700)).To(Succeed())
	g.Expect(atomicfile.Write(path, []byte("x"))).NotTo(Succeed())
	g.Expect(os.ReadDir(dir)).To(HaveLen(1), "nothing is left beside it")
	g.Expect(atomicfile.SyncDirectory(filepath.Join(dir, "none"))).NotTo(Succeed())
}
