package registration

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// A process that was killed while it wrote leaves a file of which nobody knows, with a key in it.
func TestUnfinishedFilesOfAKilledAgentAreRemoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "agent")
	begun := filepath.Join(dir, ".new-1234")
	g.Expect((state{dir: dir}).claim(identity{Cluster: "edge-1"})).To(Succeed())
	g.Expect(os.WriteFile(begun, []byte("a key"), 0o600)).To(Succeed())
	locked, err := Lock(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(begun).NotTo(BeAnExistingFile())
	g.Expect(locked.Close()).To(Succeed())

	g.Expect(os.WriteFile(begun, []byte("a key"), 0o600)).To(Succeed())
	g.Expect(Forget(dir)).To(Succeed())
	g.Expect(dir).NotTo(BeADirectory(), "nothing of the agent is left")
}
