package story

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

// Telling is how the stories of a package are told.
type Telling struct {
	// Setup are the words with which lines begin that say what there is.
	Setup []string
	// Least is how many stories there are at least.
	Least int
	// Update writes what happens behind the stories.
	Update bool
	// Play tells one, and returns the world at its end.
	Play func(s *Story, v Variant) (w World, unmet []string, err error)
	// Variants are the ways in which each is told after the first one, by what they are called.
	Variants map[string]Variant
	// ReorderRestarts has each restart told in an order of its own, in which expectations need not be
	// met: they are about the first one.
	ReorderRestarts bool
}

// Tell tells the stories in the directory stories: as they stand, in each variant, and with the hub
// restarted after each of their lines.
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

// first tells a story as it stands.
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

// again tells it in other ways.
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
