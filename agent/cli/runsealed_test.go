package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/utils/clock"

	"fairlead.dev/agent/journal"
	"fairlead.dev/agent/journal/entry"
	"fairlead.dev/agent/registration"
)

// TestAnAgentDoesNotStartOnAJournalThatItCannotRead checks that an agent with a wrong key, or none, fails and leaves
// the journal intact, for a start with the right key.
func TestAnAgentDoesNotStartOnAJournalThatItCannotRead(t *testing.T) {
	t.Parallel()
	const one, two = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	of := func(secret string) string { return "fingerprint " + entry.NewKey([]byte(secret)).Fingerprint() }
	for name, c := range map[string]struct {
		written, given string
		want           []string
	}{
		"sealed, and no key is given":      {written: one, want: []string{of(one), "there is none", "--journal-key-file"}},
		"sealed, and another key is given": {written: one, given: two, want: []string{of(one), of(two), "--journal-key-file"}},
		"not sealed, and a key is given":   {given: one, want: []string{"not sealed", "--journal-key-file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := t.TempDir()
			stateDir := filepath.Join(dir, "state")
			g.Expect(registration.WriteFiles(stateDir, joinedFiles(t, ""))).To(Succeed())
			records := filepath.Join(stateDir, "journal", "edge-1")
			j, _, _ := journal.Open(journal.Options{
				Directory: records, Cluster: "edge-1", Key: entry.KeyOf([]byte(c.written)), Clock: clock.RealClock{}, Log: logr.Discard(), Registry: prometheus.NewRegistry(),
			})
			j.Begin("karmada-es-edge-1")
			j.PutRules(entry.Rules{Unasked: true})
			before := contents(g, records)
			g.Expect(before).To(HaveLen(2))

			member := filepath.Join(dir, "member.kubeconfig")
			g.Expect(os.WriteFile(member, []byte(kubeconfig), 0o600)).To(Succeed())
			args := []string{"run", "--kubeconfig", member, "--context", "one", "--state-dir", stateDir}
			if c.given != "" {
				key := filepath.Join(dir, "journal.key")
				g.Expect(os.WriteFile(key, []byte(c.given), 0o600)).To(Succeed())
				args = append(args, "--journal-key-file", key)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // an agent that does start would run for ever
			defer cancel()
			var out, problems bytes.Buffer
			code := Run(ctx, Environment{Out: &out, Err: &problems, SetLogger: func(logr.Logger) {}}, args)
			g.Expect(contents(g, records)).To(Equal(before))
			g.Expect(code).To(Equal(1))
			for _, want := range append(c.want, records) {
				g.Expect(problems.String()).To(ContainSubstring(want))
			}
		})
	}
}

// contents returns the files of a directory.
func contents(g Gomega, directory string) map[string]string {
	entries, err := os.ReadDir(directory)
	g.Expect(err).NotTo(HaveOccurred())
	out := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			out[e.Name()] = "a directory"
			continue
		}
		raw, err := os.ReadFile(filepath.Join(directory, e.Name()))
		g.Expect(err).NotTo(HaveOccurred())
		out[e.Name()] = string(raw)
	}
	return out
}
