package rollout

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var update = flag.Bool("update", false, "write what happens behind the stories")

func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("stories/*.txt")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(files) >= 28 || *update).To(BeTrue(), "each story of the design is told")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			s, err := read(string(text))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.about).NotTo(BeEmpty(), "a story begins by saying what it is about")
			tell(t, file, string(text), s)
		})
	}
}

func tell(t *testing.T, file, text string, s *story) {
	t.Helper()
	g := NewWithT(t)
	trace, unmet, broken, err := play(s, variant{})
	g.Expect(err).NotTo(HaveOccurred())
	for _, u := range append(unmet, broken...) {
		t.Error(u)
	}
	if *update {
		told, _, _ := strings.Cut(text, "\n---\n")
		g.Expect(os.WriteFile(file, []byte(strings.TrimRight(told, "\n")+"\n---\n"+trace), 0o600)).To(Succeed())
	} else {
		g.Expect(trace).To(Equal(s.golden), "see whether this is better, then: go test ./test/rollout -update")
	}
	for name, v := range map[string]variant{"in another order": {order: 1}, "in a third order": {order: 2}, "with a binding stage that is late": {order: 3, slow: true}} {
		_, unmet, broken, err := play(s, v)
		g.Expect(err).NotTo(HaveOccurred())
		for _, u := range append(unmet, broken...) {
			t.Errorf("%s: %s", name, u)
		}
	}
	for _, l := range s.lines {
		if l.words[0] == "expect" {
			continue
		}
		_, unmet, broken, err := play(s, variant{restart: l.number})
		g.Expect(err).NotTo(HaveOccurred())
		for _, u := range append(unmet, broken...) {
			t.Errorf("with a restart after line %d: %s", l.number, u)
		}
	}
}
