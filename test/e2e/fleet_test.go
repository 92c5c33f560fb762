package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// How long things may take on a machine that does other work too.
const (
	patience = 2 * time.Minute
	poll     = 500 * time.Millisecond // most checks start a program
)

var shared = fleettest.Of(fleet.Options{Clusters: 3, Nodes: 2})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// up returns the fleet. Its deletion brakes are off: there is no operator to release what they hold.
func up(t *testing.T) *fleet.Fleet {
	t.Helper()
	f := shared.Up(t)
	for _, member := range f.Members() {
		kubectl(t, NewWithT(t), f, fleet.HubName, "patch", "cluster", member, "--type=merge", "-p", `{"spec":{"deletionBrake":{"objects":0,"percent":100}}}`)
	}
	return f
}

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(patience).WithPolling(poll).Should(Succeed())
}

// kubectl runs kubectl on the hub or a member, which must succeed.
func kubectl(t *testing.T, g Gomega, f *fleet.Fleet, name string, args ...string) string {
	t.Helper()
	out, err := f.Kubectl(t.Context(), name, args...)
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// apply applies YAML to the hub.
func apply(t *testing.T, f *fleet.Fleet, yaml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	g := NewWithT(t)
	g.Expect(os.WriteFile(file, []byte(yaml), 0o600)).To(Succeed())
	kubectl(t, g, f, fleet.HubName, "apply", "-f", file)
}
