package book

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestAnAgentOnTheHubsMachineKeepsItsState runs the commands with which the pages move a hub's old data aside, while an
// agent has its state in the same directory, which is the default of both.
func TestAnAgentOnTheHubsMachineKeepsItsState(t *testing.T) {
	t.Parallel()
	for page, aside := range map[string]string{"disaster.md": "/var/lib/fairlead.broken", "leaving.md": "/var/lib/fairlead.gone"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			m := newMachine(t)
			for _, file := range []string{"pki/ca.crt", "etcd/member/snap/db", "admin.kubeconfig", "agent/identity.json"} {
				path := filepath.Join(m.path("/var/lib/fairlead"), file)
				g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
				g.Expect(os.WriteFile(path, nil, 0o600)).To(Succeed())
			}
			blocks, err := read(filepath.Join(book(t), page))
			g.Expect(err).NotTo(HaveOccurred())
			var moves block
			for _, b := range blocks {
				for line := range strings.Lines(b.text) {
					if b.language == shell && strings.Contains(line, aside) {
						moves.text += line
					}
				}
			}
			g.Expect(moves.text).NotTo(BeEmpty())
			moves.language, moves.line = shell, 1
			m.run(t, page, []block{moves})

			g.Expect(names(t, m.path("/var/lib/fairlead"))).To(ConsistOf("agent"))
			g.Expect(names(t, m.path("/var/lib/fairlead/agent"))).To(ConsistOf("identity.json"))
			g.Expect(names(t, m.path(aside))).To(ConsistOf("pki", "etcd", "admin.kubeconfig"), "a hub is restored to where none is left")
		})
	}
}

// names returns the names of a directory's entries.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
