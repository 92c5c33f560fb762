package backup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/machinery/backup/retention"
)

func TestTheNewestBackupOfADirectory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	path := t.TempDir()
	put := func(hub string, taken time.Time) string {
		name := filepath.Join(path, retention.Name(hub, taken, true))
		g.Expect(os.WriteFile(name, nil, 0o600)).To(Succeed())
		return name
	}
	_, _, err := NewestFile(path, "", now)
	g.Expect(err).To(MatchError(ContainSubstring("holds no backup")))
	put("1a2b3c4d", now.AddDate(5, 0, 0))
	_, _, err = NewestFile(path, "", now)
	g.Expect(err).To(MatchError(ContainSubstring("from the future")))
	want := put("1a2b3c4d", now.Add(-time.Hour))
	put("1a2b3c4d", now.Add(-2*time.Hour))
	g.Expect(os.WriteFile(filepath.Join(path, "notes.txt"), nil, 0o600)).To(Succeed())
	newest, ahead, err := NewestFile(path, "", now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(newest).To(Equal(want))
	g.Expect(ahead).To(HaveExactElements(HaveField("Taken", now.AddDate(5, 0, 0))), "it is told")

	other := put("99999999", now.Add(-3*time.Hour))
	_, _, err = NewestFile(path, "", now)
	g.Expect(err).To(MatchError(ContainSubstring("1a2b3c4d, 99999999")))
	newest, ahead, err = NewestFile(path, "99999999", now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(newest).To(Equal(other))
	g.Expect(ahead).To(BeEmpty())
	_, _, err = NewestFile(filepath.Join(path, "none"), "", now)
	g.Expect(err).To(MatchError(os.ErrNotExist))
}
