package registration

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheKeyOfAJoinIsFoundAgainUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := state{dir: filepath.Join(t.TempDir(), "deep", "state")}
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://hub:1", MemberID: "m"})).To(Succeed())
	first, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	again, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Equal(first)).To(BeTrue())

	g.Expect(s.forgetKey()).To(Succeed())
	g.Expect(s.forgetKey()).To(Succeed(), "twice does no harm")
	other, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.Equal(first)).To(BeFalse())
}

func TestAKeyThatHasItsCertificateBeginsNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	for _, file := range []string{keyFile, renewalKeyFile} {
		first, _, err := s.key(file)
		g.Expect(err).NotTo(HaveOccurred())
		// Killed before the file was removed.
		g.Expect(s.keep("https://hub:1", "edge-1", []byte("ca"), []byte("cert"), first)).To(Succeed())
		other, begun, err := s.key(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(begun).To(BeFalse())
		g.Expect(other.Equal(first)).To(BeFalse())
		again, begun, err := s.key(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(begun).To(BeTrue())
		g.Expect(again.Equal(other)).To(BeTrue())
	}
}

func TestAKeyThatIsDamagedIsMadeAnew(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	g.Expect(s.write(keyFile, []byte("nonsense"))).To(Succeed())
	key, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	again, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Equal(key)).To(BeTrue())
}

func TestAStateDirectoryBelongsToOneCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://hub:1", MemberID: "m"})).To(Succeed())
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://hub:2", MemberID: "m"})).To(Succeed(), "the hub may move")
	g.Expect(s.claim(identity{Cluster: "edge-2", Server: "https://hub:1", MemberID: "m"})).To(MatchError(ErrOtherCluster))

	_, err := Load(s.dir, "edge-2")
	g.Expect(err).To(MatchError(ErrOtherCluster))
	_, err = Load(s.dir, "edge-1")
	g.Expect(err).To(MatchError(ErrNotJoined), "the join was not finished")
}

func TestAStateDirectoryThatCannotBeUsedIsReported(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, identityFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	noConfig := state{dir: t.TempDir()}
	if err := noConfig.claim(identity{Cluster: "edge-1"}); err != nil {
		t.Fatal(err)
	}
	if err := noConfig.write(KubeconfigFile, []byte("{")); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a file": file, "a damaged identity": damaged, "a damaged kubeconfig": noConfig.dir} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(dir, "edge-1")
			NewWithT(t).Expect(err).To(MatchError(ErrStateDir))
		})
	}
}

func TestAFileIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	g.Expect(s.write("x", []byte("first"))).To(Succeed())
	g.Expect(s.write("x", []byte("second"))).To(Succeed())
	raw, err := s.read("x")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(Equal("second"))
	files, err := os.ReadDir(s.dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(1), "nothing is left behind")
}

func TestAJoinThatWasNeverFinishedIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	told := func() (string, bool) {
		files, err := Files(s.dir)
		g.Expect(err).NotTo(HaveOccurred())
		return Unfinished(files)
	}
	_, unfinished := told()
	g.Expect(unfinished).To(BeFalse(), "none was begun")
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://hub:1", MemberID: "m"})).To(Succeed())
	key, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	cluster, unfinished := told()
	g.Expect(unfinished).To(BeTrue())
	g.Expect(cluster).To(Equal("edge-1"))
	g.Expect(s.keep("https://hub:1", "edge-1", []byte("ca"), []byte("cert"), key)).To(Succeed())
	_, unfinished = told()
	g.Expect(unfinished).To(BeFalse())
}
