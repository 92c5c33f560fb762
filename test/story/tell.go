package story

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

// Telling configures how the stories of a package are played.
type Telling struct {
	// Setup are the words with which lines of the setup begin.
	Setup []string
	// Least is the minimum number of stories.
	Least int
	// Update writes the traces into the stories' files.
	Update bool
	// Play plays a story, and returns the world at its end.
	Play func(s *Story, v Variant) (w World, unmet []string, err error)
	// Variants are the further ways in which each story is played, by name.
	Variants map[string]Variant
	// ReorderRestarts plays each restart in its own order, in which expectations need not be met: they are written for
	// the first one.
	ReorderRestarts bool
}

// Tell plays the stories in the directory stories: unmodified, in each variant, and with the hub restarted after each
// of their lines.
func (how Telling) Tell(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	files, err := filepath.Glob("stories/*.txt")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(len(files) >= how.Least || how.Update).To(gomega.BeTrue(), "there are at least %d stories", how.Least)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			g := gomega.NewWithT(t)
			text, err := os.ReadFile(file)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			s, err := Read(string(text), how.Setup...)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(s.About).NotTo(gomega.BeEmpty(), "a story begins by saying what it is about")
			how.first(t, file, string(text), s)
			how.again(t, s)
		})
	}
}

// first plays a story unmodified.
func (how Telling) first(t *testing.T, file, text string, s *Story) {
	t.Helper()
	g := gomega.NewWithT(t)
	w, unmet, err := how.Play(s, Variant{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, u := range append(unmet, w.Broken()...) {
		t.Error(u)
	}
	if how.Update {
		told, _, _ := strings.Cut(text, "\n---\n")
		g.Expect(os.WriteFile(file, []byte(strings.TrimRight(told, "\n")+"\n---\n"+w.Told()), 0o600)).To(gomega.Succeed())
		return
	}
	g.Expect(w.Told()).To(gomega.Equal(s.Golden), "see whether this is better, then run the test with -update")
}

// again plays it in the other ways.
func (how Telling) again(t *testing.T, s *Story) {
	t.Helper()
	g := gomega.NewWithT(t)
	for name, v := range how.Variants {
		w, unmet, err := how.Play(s, v)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, u := range append(unmet, w.Broken()...) {
			t.Errorf("%s: %s", name, u)
		}
	}
	for _, l := range s.Lines {
		if l.Words[0] == "expect" {
			continue
		}
		v := Variant{Restart: l.Number}
		if how.ReorderRestarts {
			v.Order = uint64(l.Number)
		}
		w, unmet, err := how.Play(s, v)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		if how.ReorderRestarts {
			unmet = nil
		}
		for _, u := range append(unmet, w.Broken()...) {
			t.Errorf("with a restart after line %d: %s", l.Number, u)
		}
	}
}
