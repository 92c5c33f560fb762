package joining

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// hubName is a name that only the proxy resolves.
const hubName = "hub.fairlead.test"

// member is the one member of these tests. It joins and leaves under several names.
const member = "edge-1"

// shared is a hub, and a member that has joined.
var shared = fleettest.Of(fleet.Options{Clusters: 1, Nodes: 1, UnsafeExec: true, HubArgs: []string{"--tls-san", hubName}})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// world is the fleet as used by one test.
type world struct{ *fleettest.World }

// up returns the fleet without a Cluster on the hub: its member is free to join.
func up(t *testing.T) *world {
	t.Helper()
	w := &world{shared.World(t, fleet.HubName)}
	w.G.Expect(w.Stop(t.Context(), fleet.AgentName(member))).To(Succeed())
	w.clear()
	return w
}

// clear removes every Cluster from the hub, and frees its name.
func (w *world) clear() {
	for name := range strings.FieldsSeq(w.MustKubectl(fleet.HubName, "get", "clusters", "-o", "jsonpath={.items[*].metadata.name}")) {
		w.Operate("forget", name, "--force")
		w.Operate("forget", name, "--release")
	}
	for name := range strings.FieldsSeq(w.MustKubectl(fleet.HubName, "get", "configmaps", "-n", "karmada-cluster", "-o", "jsonpath={.items[*].metadata.name}")) {
		if kept, ok := strings.CutPrefix(name, "retired-"); ok {
			w.Operate("forget", kept, "--release")
		}
	}
}

// joinArguments creates a token and returns the arguments of the printed join command.
func (w *world) joinArguments(name string) []string {
	w.T.Helper()
	args, err := w.CreateToken(w.T.Context(), name)
	w.G.Expect(err).NotTo(HaveOccurred())
	return args
}

// agent runs a command as the operator of the member, and returns its output.
func (w *world) agent(environment []string, args ...string) (string, error) {
	w.T.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(w.T.Context(), w.Program("agent"), args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	w.T.Logf("agent %s\n%s", strings.Join(args, " "), out.String())
	return out.String(), err
}

// killAt runs a command as the operator of the member, and kills it as soon as it prints a text.
func (w *world) killAt(saying string, environment []string, args ...string) {
	w.T.Helper()
	cmd := exec.CommandContext(w.T.Context(), w.Program("agent"), args...)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.StdoutPipe()
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Expect(cmd.Start()).To(Succeed())
	said := false
	for lines := bufio.NewScanner(out); !said && lines.Scan(); {
		w.T.Log(lines.Text())
		said = strings.Contains(lines.Text(), saying)
	}
	w.G.Expect(cmd.Process.Kill()).To(Succeed())
	_ = cmd.Wait() // it was killed
	w.G.Expect(said).To(BeTrue(), saying)
}

// send propagates a ConfigMap to a cluster.
func (w *world) send(name, target string) {
	w.T.Helper()
	file := w.ApplyConfigMap(name, target)
	w.T.Cleanup(func() {
		w.MustKubectl(fleet.HubName, "delete", "--ignore-not-found", "-f", file)
		w.MustKubectl(member, "delete", "configmap", "-n", "default", "--ignore-not-found", name)
	})
	w.Eventually(func(g Gomega) { g.Expect(w.managed(g, name)).To(Equal("true")) })
}

// managed returns the managed label of a ConfigMap in the member; "gone" if it does not exist.
func (w *world) managed(g Gomega, name string) string {
	c, err := w.Client(member)
	g.Expect(err).NotTo(HaveOccurred())
	live := &corev1.ConfigMap{}
	err = c.Get(w.T.Context(), client.ObjectKey{Namespace: "default", Name: name}, live)
	if apierrors.IsNotFound(err) {
		return "gone"
	}
	g.Expect(err).NotTo(HaveOccurred())
	return live.Labels[contract.ManagedLabel]
}
