package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/atomicfile"
)

func TestAFileThatCannotBeUsedIsSetAsideWithAWarning(t *testing.T) {
	t.Parallel()
	cases := map[string]func(g Gomega, s *shelf){
		"torn": func(g Gomega, s *shelf) {
			path := filepath.Join(s.directory, fileOf("bad"))
			text, err := os.ReadFile(path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(path, text[:len(text)/2], 0o600)).To(Succeed())
		},
		"empty": func(g Gomega, s *shelf) {
			g.Expect(os.Truncate(filepath.Join(s.directory, fileOf("bad")), 0)).To(Succeed())
		},
		"of another program": func(g Gomega, s *shelf) {
			g.Expect(os.WriteFile(filepath.Join(s.directory, fileOf("bad")), []byte("hello\n"), 0o600)).To(Succeed())
		},
		"with the name of another": func(g Gomega, s *shelf) {
			g.Expect(os.Rename(filepath.Join(s.directory, fileOf("bad")), filepath.Join(s.directory, fileOf("worse")))).To(Succeed())
		},
		"a directory": func(g Gomega, s *shelf) {
			path := filepath.Join(s.directory, fileOf("bad"))
			g.Expect(os.Remove(path)).To(Succeed())
			g.Expect(os.MkdirAll(filepath.Join(path, "below"), 0o700)).To(Succeed())
		},
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, s := NewWithT(t), newShelf(t)
			j, _, _ := s.open("edge")
			j.Begin(namespace)
			j.Put(work("bad", 1))
			j.Put(work("good", 1))
			spoil(g, s)
			g.Expect(os.WriteFile(filepath.Join(s.directory, atomicfile.Temporary+"123"), []byte("half"), 0o600)).To(Succeed())

			_, _, names := s.open("edge")
			g.Expect(names).To(Equal([]string{"good/1"}))
			g.Expect(s.warnings).To(ConsistOf(ContainSubstring("Setting aside a file of the journal")))
			g.Expect(s.files(g)).To(ConsistOf(memberFile, aside, fileOf("good")))
			g.Expect(s.files(g, aside)).To(HaveLen(1))
			_, _, names = s.open("edge")
			g.Expect(names).To(Equal([]string{"good/1"}))
			g.Expect(s.warnings).To(BeEmpty(), "it is told once")
		})
	}
}

func TestFilesSetAsideDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	for i := range 3 * maxAside {
		g.Expect(os.WriteFile(filepath.Join(s.directory, "foreign-"+strconv.Itoa(i)), nil, 0o600)).To(Succeed())
	}
	s.open("edge")
	g.Expect(s.files(g, aside)).To(HaveLen(maxAside))
}

func TestAFullDiskLosesTheOldVersionAndIsMadeGoodLater(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	j.Put(work("a", 1))
	j.Put(work("b", 1))
	s.warnings = nil

	j.replace = func(string, []byte) error { return errors.Join(errors.New("writing"), syscall.ENOSPC) }
	j.Put(work("a", 2))
	j.Put(work("a", 3))
	j.Put(work("c", 1))
	warned := s.warnings
	g.Expect(warned).To(HaveLen(1), "it is told once")
	_, _, names := s.open("edge")
	g.Expect(names).To(Equal([]string{"b/1"}), "what is older than what was acted upon is not used")

	j.Remove(client.ObjectKeyFromObject(work("c", 1)))
	j.retryUnwritten()
	j.replace = atomicfile.Replace
	j.retryUnwritten()
	_, _, names = s.open("edge")
	g.Expect(names).To(Equal([]string{"a/3", "b/1"}))
	g.Expect(j.failing).To(BeFalse())
}

// TestAnOlderVersionThatCannotBeRemovedIsNotForgotten checks that an older version that can be neither replaced nor
// removed is remembered until it is gone.
func TestAnOlderVersionThatCannotBeRemovedIsNotForgotten(t *testing.T) {
	t.Parallel()
	broken := func(string) error { return syscall.EIO }
	cases := map[string]struct {
		mend func(j *Journal)
		want []string
	}{
		"and is replaced by the next try": {func(j *Journal) { j.replace = atomicfile.Replace; _ = j.Put(work("a", 3)) }, []string{"a/3"}},
		"and is replaced later":           {func(j *Journal) { j.replace, j.unlink = atomicfile.Replace, os.Remove; j.retryUnwritten() }, []string{"a/3"}},
		"and is removed by the next try":  {func(j *Journal) { j.unlink = os.Remove; _ = j.Put(work("a", 3)) }, nil},
		"and is removed later":            {func(j *Journal) { j.unlink = os.Remove; j.retryUnwritten() }, nil},
		"and is removed with the Work":    {func(j *Journal) { j.unlink = os.Remove; j.Remove(client.ObjectKeyFromObject(work("a", 3))) }, nil},
		"and is removed later, with the Work": {func(j *Journal) {
			j.Remove(client.ObjectKeyFromObject(work("a", 3)))
			j.unlink = os.Remove
			j.retryUnwritten()
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, s := NewWithT(t), newShelf(t)
			j, _, _ := s.open("edge")
			j.Begin(namespace)
			g.Expect(j.Put(work("a", 1))).To(BeTrue())
			j.replace, j.unlink = func(string, []byte) error { return syscall.EIO }, broken
			g.Expect(j.Put(work("a", 2))).To(BeFalse())
			j.retryUnwritten()
			g.Expect(j.Absent(work("a", 2))).To(BeFalse(), "as if the hub had it")
			g.Expect(j.Put(work("a", 3))).To(BeFalse(), "it is still there")
			g.Expect(j.Put(work("b", 1))).To(BeTrue(), "of this one there never was another")
			j.Remove(client.ObjectKeyFromObject(work("b", 1)))
			tc.mend(j)
			g.Expect(j.outdated).To(BeEmpty())
			_, _, names := s.open("edge")
			g.Expect(names).To(Equal(tc.want))
		})
	}
}

// TestAMemberFileThatCouldNotBeWrittenIsWrittenLater covers the file with the owner of the journal: without it the
// journal is discarded at the next start.
func TestAMemberFileThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	j.replace = func(string, []byte) error { return syscall.ENOSPC }
	j.Begin(namespace)
	j.replace = atomicfile.Replace
	j.Put(work("a", 1))
	g.Expect(j.failing).To(BeTrue())
	j.retryUnwritten()
	g.Expect(j.failing).To(BeFalse())
	_, where, names := s.open("edge")
	g.Expect(where).To(Equal(namespace))
	g.Expect(names).To(Equal([]string{"a/1"}))
}

func TestADirectoryThatCouldNotBeSyncedIsSyncedLater(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	synced := 0
	j.syncDir = func(string) error { return syscall.EIO }
	j.Put(work("a", 1))
	g.Expect(j.syncNames()).To(BeFalse())
	j.retryUnwritten()
	g.Expect(j.failing).To(BeTrue(), "it does not say that it is well")
	j.syncDir = func(string) error { synced++; return nil }
	j.retryUnwritten()
	g.Expect(synced).To(Equal(1))
	g.Expect(j.failing).To(BeFalse())
}

func TestADirectoryThatCannotBeMadeIsNoReasonToStop(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &shelf{directory: filepath.Join(t.TempDir(), "file", "journal")}
	g.Expect(os.WriteFile(filepath.Dir(s.directory), nil, 0o600)).To(Succeed())
	j, where, names := s.open("edge")
	g.Expect(where).To(BeEmpty())
	g.Expect(names).To(BeEmpty())
	j.Begin(namespace)
	j.Put(work("a", 1))
	j.Remove(client.ObjectKeyFromObject(work("a", 1)))
	g.Expect(s.warnings).NotTo(BeEmpty())
}
