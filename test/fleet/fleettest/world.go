package fleettest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

const (
	// WaitTimeout allows for a machine that does other work too.
	WaitTimeout = 5 * time.Minute
	poll        = 500 * time.Millisecond // most checks start a program
)

// World is a fleet as used by one test: every error fails the test. Its methods may also be called in cleanups.
type World struct {
	*fleet.Fleet
	T *testing.T
	G *gomega.WithT
}

// World returns the fleet for a test. If the test fails, it prints the tails of the given processes' logs.
func (s *Shared) World(t *testing.T, logs ...string) *World {
	t.Helper()
	w := &World{Fleet: s.Up(t), T: t, G: gomega.NewWithT(t)}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range logs {
				t.Log(process.Tail(w.Log(name)))
			}
		}
	})
	return w
}

// Eventually retries check until it passes.
func (w *World) Eventually(check func(g gomega.Gomega)) {
	w.T.Helper()
	w.G.Eventually(check).WithTimeout(WaitTimeout).WithPolling(poll).Should(gomega.Succeed())
}

// Operate runs a command of the hub's operator and returns its output.
func (w *World) Operate(args ...string) string {
	w.T.Helper()
	out, err := w.Run(context.Background(), "hub", append(args, "--kubeconfig", w.Kubeconfig(fleet.HubName))...)
	w.G.Expect(err).NotTo(gomega.HaveOccurred())
	return out
}

// MustKubectl runs kubectl on the hub or a member and returns its output.
func (w *World) MustKubectl(name string, args ...string) string {
	w.T.Helper()
	out, err := w.Kubectl(context.Background(), name, args...)
	w.G.Expect(err).NotTo(gomega.HaveOccurred())
	return out
}

// Apply applies YAML to the hub, and returns the file that contains it.
func (w *World) Apply(yaml string) string {
	w.T.Helper()
	file := filepath.Join(w.T.TempDir(), "objects.yaml")
	w.G.Expect(os.WriteFile(file, []byte(yaml), 0o600)).To(gomega.Succeed())
	w.MustKubectl(fleet.HubName, "apply", "-f", file)
	return file
}

// ApplyConfigMap applies a ConfigMap in the namespace default with a policy that propagates it to a cluster, and
// returns the file that contains both.
func (w *World) ApplyConfigMap(name, target string) string {
	w.T.Helper()
	return w.Apply(fmt.Sprintf(`
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: %[1]s, namespace: default}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: %[1]s}]
  placement: {clusterAffinity: {clusterNames: [%[2]s]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s, namespace: default}
data: {a: "1"}
`, name, target))
}

// AwaitReady waits until `hub` commands show a cluster as ready. Starting a program takes a tenth of a second of
// processor time, so it is run only once the Cluster is ready.
func (w *World) AwaitReady(name string) {
	w.T.Helper()
	w.Eventually(func(g gomega.Gomega) {
		g.Expect(w.ClusterReady(context.Background(), name)).To(gomega.Succeed())
		out, err := w.Run(context.Background(), "hub", "clusters", "--kubeconfig", w.Kubeconfig(fleet.HubName))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(out).To(gomega.MatchRegexp(name + ` +Ready `))
	})
}

// RunAgent runs an agent until the test ends or it stops by itself.
func (w *World) RunAgent(log string, args ...string) *process.Process {
	w.T.Helper()
	p, err := process.Start(process.Spec{Executable: w.Program("agent"), Args: append([]string{"run"}, args...), Log: log})
	w.G.Expect(err).NotTo(gomega.HaveOccurred())
	w.T.Cleanup(p.Kill)
	return p
}
