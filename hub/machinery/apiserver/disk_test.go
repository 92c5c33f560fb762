package apiserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/test/disk"
)

// Sizes of a hub's disk, on which etcd reserves 128 MB for its write-ahead log: tight has room for that and the
// database, wide for two more copies of the database.
const (
	tight = 230
	wide  = 1000
)

// TestAHubWhoseDiskIsFullGoesOn has a hub on a disk without room for a second copy of its database: backups and a new
// encryption key are refused, and the hub keeps serving. With more room both succeed.
func TestAHubWhoseDiskIsFullGoesOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	small := disk.Small(t, tight)
	s := &secretStore{WithT: g, Embedded: embedded(t), t: t}
	s.DataDir = filepath.Join(small.Path, "data")
	var said strings.Builder
	s.Progress = func(line string) { said.WriteString(line + "\n") }
	s.start()
	s.fill()
	s.p.Stop()
	first := s.key()
	s.command("rotate")

	s.start()
	s.whole()
	g.Expect(said.String()).To(And(ContainSubstring("too little room on the disk"), ContainSubstring("removed at the next start")))
	g.Expect(s.command("status")).To(ContainSubstring("Restart"), "the old key is kept until all copies of before are gone")
	file := filepath.Join(t.TempDir(), "hub.backup")
	g.Expect(s.backup(file)).To(Succeed(), "a snapshot fits")
	g.Expect(s.verify(file, small.Path)).To(MatchError(And(ContainSubstring("too little room"), ContainSubstring(small.Path))))
	g.Expect(s.verify(file, t.TempDir())).To(Succeed(), "elsewhere")
	filled := filepath.Join(small.Path, "other")
	g.Expect(os.WriteFile(filled, make([]byte, (tight-190)<<20), 0o600)).To(Succeed())
	g.Expect(s.backup(file + ".2")).To(MatchError(ContainSubstring("too little room")))
	g.Expect(file + ".2").NotTo(BeAnExistingFile())
	g.Expect(s.c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "later"}})).To(Succeed(), "the hub goes on")
	s.whole()
	s.p.Stop()

	small.Grow(t, wide)
	s.start()
	s.whole()
	g.Expect(s.key()).NotTo(Equal(first))
	g.Expect(holding(g, filepath.Join(s.DataDir, "etcd"), first)).To(BeEmpty(), "nothing is left that the old key decrypts")
	g.Expect(s.backup(file + ".2")).To(Succeed())
}

func (s *secretStore) backup(file string) error {
	return s.program("backup", "--data-dir", s.DataDir, file)
}

func (s *secretStore) verify(file, scratch string) error {
	return s.program("verify", "--scratch-dir", scratch, file)
}

// program runs the executable of the embedded API; the error contains its output.
func (s *secretStore) program(args ...string) error {
	out, err := exec.CommandContext(s.t.Context(), s.Binary, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
