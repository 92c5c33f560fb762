package cli

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhetherBackupsAreOnTheDiskOfTheData(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	data := t.TempDir()
	g.Expect(onOneFileSystem(filepath.Join(data, "backup"), data)).To(BeTrue(), "it is made there")
	g.Expect(onOneFileSystem("/proc", data)).To(BeFalse())
	g.Expect(onOneFileSystem(data, "/proc")).To(BeFalse())
}
