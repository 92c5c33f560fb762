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
	_, err := Load(s.dir, "edge-2")
	g.Expect(err).To(MatchError(ErrOtherCluster))
	_, err = Load(s.dir, "edge-1")
	g.Expect(err).To(MatchError(ErrNotJoined), "the join was not finished")
	key, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(s.keep("https://hub:2", "edge-1", []byte("ca"), []byte("cert"), key)).To(Succeed())
	g.Expect(s.claim(identity{Cluster: "edge-2", Server: "https://hub:1", MemberID: "m"})).To(MatchError(ErrOtherCluster))
	g.Expect(s.remove(KubeconfigFile)).To(Succeed())
	record := filepath.Join(s.dir, journalDir, "edge-1", "member.json")
	g.Expect(os.MkdirAll(filepath.Dir(record), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(record, nil, 0o600)).To(Succeed())
	g.Expect(s.claim(identity{Cluster: "edge-2", Server: "https://hub:1", MemberID: "m"})).To(MatchError(ErrOtherCluster), "an agent has run with it")
}

func TestAStateDirectoryOfAJoinThatWasNeverFinishedIsFreeForAnotherCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://hub:1", MemberID: "m", OnRetire: Remove})).To(Succeed())
	_, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.claim(identity{Cluster: "edge-2", Server: "https://hub:1", MemberID: "m"})).To(Succeed())
	who, err := s.identity()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*who).To(Equal(identity{Cluster: "edge-2", Server: "https://hub:1", MemberID: "m"}))
	g.Expect(s.begunKey(keyFile)).To(BeNil(), "with the same key the two would be one join")
}

func TestAStateDirectoryIsForgottenHoweverOftenThatIsStopped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	who := identity{Cluster: "edge-1", Server: "https://hub:1", MemberID: "m"}
	stage := func(dir string) Stage {
		out, cluster, err := StageOf(dir)
		g.Expect(err).NotTo(HaveOccurred())
		if out != StageNone {
			g.Expect(cluster).To(Equal("edge-1"))
		}
		return out
	}
	s := state{dir: filepath.Join(t.TempDir(), "state")}
	g.Expect(stage(s.dir)).To(Equal(StageNone))
	g.Expect(s.claim(who)).To(Succeed())
	g.Expect(stage(s.dir)).To(Equal(StageBegun))
	key, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.keep("https://hub:1", "edge-1", []byte("ca"), []byte("cert"), key)).To(Succeed())
	record := filepath.Join(s.dir, journalDir, "edge-1", "member.json")
	g.Expect(os.MkdirAll(filepath.Dir(record), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(record, nil, 0o600)).To(Succeed())
	g.Expect(stage(s.dir)).To(Equal(StageJoined))

	left := who
	left.Left = true
	g.Expect(s.writeJSON(identityFile, left)).To(Succeed())
	g.Expect(stage(s.dir)).To(Equal(StageLeft))
	_, err = Load(s.dir, "edge-1")
	g.Expect(err).To(MatchError(ErrNotJoined), "nobody runs with it")
	copied := state{dir: filepath.Join(t.TempDir(), "state")}
	g.Expect(os.CopyFS(copied.dir, os.DirFS(s.dir))).To(Succeed())
	g.Expect(Forget(s.dir)).To(Succeed())
	g.Expect(s.dir).NotTo(BeADirectory())

	g.Expect(copied.claim(who)).To(Succeed(), "it comes back instead")
	g.Expect(stage(copied.dir)).To(Equal(StageBegun))
	g.Expect(filepath.Dir(record)).NotTo(BeADirectory())
	g.Expect(Forget(copied.dir)).To(Succeed())
	g.Expect(copied.dir).NotTo(BeADirectory())
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
