package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/utils/clock"

	"fairlead.dev/agent/journal"
	"fairlead.dev/agent/journal/entry"
	"fairlead.dev/agent/registration"
)

// TestAJoinLeavesASealedRecordAlone checks that an agent that joins again neither sets aside a record that it cannot
// read nor writes an unsealed one next to it.
func TestAJoinLeavesASealedRecordAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	state := t.TempDir()
	directory := filepath.Join(state, "journal", "edge-1")
	secret := filepath.Join(state, "journal.key")
	g.Expect(os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o600)).To(Succeed())
	sealing, err := journalSecret(secret)
	g.Expect(err).NotTo(HaveOccurred())
	j, _, _ := journal.Open(journal.Options{
		Directory: directory, Cluster: "edge-1", Key: entry.KeyOf(sealing), Clock: clock.RealClock{}, Log: logr.Discard(), Registry: prometheus.NewRegistry(),
	})
	j.Begin("karmada-es-edge-1")
	before, err := os.ReadDir(directory)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(before).NotTo(BeEmpty())

	f := joinCommand{webhooks: true}
	options := registration.Options{StateDir: state}
	options.Cluster = "edge-1"
	g.Expect(f.joinHere(t.Context(), options, func(string) {})).To(MatchError(And(ContainSubstring("journal"), ContainSubstring("--journal-key-file"))))
	f.journalKey = secret
	g.Expect(f.joinHere(t.Context(), options, func(string) {})).To(MatchError(Not(ContainSubstring("set aside"))), "it has no hub to join")
	after, err := os.ReadDir(directory)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(Equal(before))
}
