package joining

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// How long things may take on a machine that does other work too.
const (
	patience = 2 * time.Minute
	poll     = 100 * time.Millisecond
)

// hubName is a name that no DNS of this machine knows; the proxy does.
const hubName = "hub.fairlead.test"

// member is the one cluster of these tests. It joins and leaves under several names.
const member = "edge-1"

// theFleet is started by the first test that needs it: a hub, and a member that has joined.
var theFleet = sync.OnceValues(func() (*fleet.Fleet, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "fairlead-joining-")
	if err != nil {
		return nil, err
	}
	f, err := fleet.New(fleet.Options{
		Bin: filepath.Join(root, "bin"), Dir: dir, Clusters: 1, Nodes: 1,
		HubArgs: []string{"--tls-san", hubName},
		Report:  func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	})
	if err != nil {
		return nil, err
	}
	started = f
	return f, f.Up(context.Background())
})

// started is the fleet to stop, ready or not.
var started *fleet.Fleet

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // the programs have logs of their own
	code := m.Run()
	if started != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		if err := started.Down(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		} else if err := os.RemoveAll(started.Dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		cancel()
	}
	os.Exit(code)
}

// world is the fleet, as one test sees it.
type world struct {
	*fleet.Fleet
	t *testing.T
	g *WithT
}

// up returns the fleet without a cluster on the hub: its member is free to join.
func up(t *testing.T) *world {
	t.Helper()
	f, err := theFleet()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Fleet: f, t: t, g: NewWithT(t)}
	w.g.Expect(f.Stop(t.Context(), fleet.AgentName(member))).To(Succeed())
	w.clear()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Tail(f.Log(fleet.HubName)))
		}
	})
	return w
}

// clear removes every cluster from the hub, and frees its name.
func (w *world) clear() {
	for name := range strings.FieldsSeq(w.kubectl(fleet.HubName, "get", "clusters", "-o", "jsonpath={.items[*].metadata.name}")) {
		w.hub("forget", name, "--force")
		w.hub("forget", name, "--release", "--force")
	}
	for name := range strings.FieldsSeq(w.kubectl(fleet.HubName, "get", "configmaps", "-n", "karmada-cluster", "-o", "jsonpath={.items[*].metadata.name}")) {
		if kept, ok := strings.CutPrefix(name, "retired-"); ok {
			w.hub("forget", kept, "--release", "--force")
		}
	}
}

func (w *world) eventually(check func(g Gomega)) {
	w.t.Helper()
	w.g.Eventually(check).WithTimeout(patience).WithPolling(poll).Should(Succeed())
}

func (w *world) kubectl(name string, args ...string) string {
	w.t.Helper()
	out, err := w.Kubectl(context.Background(), name, args...)
	w.g.Expect(err).NotTo(HaveOccurred())
	return out
}

// hub runs a command of the operator of the hub.
func (w *world) hub(args ...string) string {
	w.t.Helper()
	out, err := w.Run(context.Background(), "hub", append(args, "--kubeconfig", w.Kubeconfig(fleet.HubName))...)
	w.g.Expect(err).NotTo(HaveOccurred())
	return out
}

// joinArguments make a token and return the arguments of the join command that it printed.
func (w *world) joinArguments(name string) []string {
	w.t.Helper()
	args, err := w.CreateToken(w.t.Context(), name)
	w.g.Expect(err).NotTo(HaveOccurred())
	return args
}

// agent runs a command of the operator of the member, and returns all that it printed.
func (w *world) agent(environment []string, args ...string) (string, error) {
	w.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), w.Program("agent"), args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	w.t.Logf("agent %s\n%s", strings.Join(args, " "), out.String())
	return out.String(), err
}

// runAgent runs an agent until the test ends or it stops by itself.
func (w *world) runAgent(log string, args ...string) *process.Process {
	w.t.Helper()
	p, err := process.Start(process.Spec{Executable: w.Program("agent"), Args: append([]string{"run"}, args...), Log: log})
	w.g.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(p.Kill)
	return p
}

// ready waits until the hub reports a cluster as alive.
func (w *world) ready(name string) {
	w.t.Helper()
	w.eventually(func(g Gomega) {
		out, err := w.Run(w.t.Context(), "hub", "clusters", "--kubeconfig", w.Kubeconfig(fleet.HubName))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(MatchRegexp(name + ` +Ready `))
	})
}

// send has a ConfigMap sent to a cluster.
func (w *world) send(name, target string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "objects.yaml")
	w.g.Expect(os.WriteFile(file, fmt.Appendf(nil, `
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
`, name, target), 0o600)).To(Succeed())
	w.kubectl(fleet.HubName, "apply", "-f", file)
	w.t.Cleanup(func() {
		w.kubectl(fleet.HubName, "delete", "--ignore-not-found", "-f", file)
		w.kubectl(member, "delete", "configmap", "-n", "default", "--ignore-not-found", name)
	})
	w.eventually(func(g Gomega) { g.Expect(w.managed(g, name)).To(Equal("true")) })
}

// managed returns the managed label of a ConfigMap in the member; "gone" if there is none.
func (w *world) managed(g Gomega, name string) string {
	out, err := w.Kubectl(w.t.Context(), member, "get", "configmap", "-n", "default", "--ignore-not-found", name, "-o", `jsonpath={.metadata.name}={.metadata.labels.karmada\.io/managed}`)
	g.Expect(err).NotTo(HaveOccurred())
	label, found := strings.CutPrefix(out, name+"=")
	if !found {
		return "gone"
	}
	return label
}
