package exchange

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	"fairlead.dev/common/interpreter/builtin"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
	"fairlead.dev/test/process"
)

// How long things may take on a machine that does other work too.
const (
	patience = 5 * time.Minute
	poll     = 200 * time.Millisecond
)

var shared = fleettest.Of(fleet.Options{Clusters: 3, Nodes: 1})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// world is the fleet, as the test sees it.
type world struct {
	*fleet.Fleet
	t *testing.T
	g *WithT
	// ended is told how the agent in this process ended.
	ended chan error
}

// up returns the fleet. The agent of the member that joins anew each time is stopped.
func up(t *testing.T) *world {
	t.Helper()
	w := &world{Fleet: shared.Up(t), t: t, g: NewWithT(t), ended: make(chan error, 1)}
	w.stop(fleet.AgentName(joins))
	w.hub("forget", joins, "--force")
	w.hub("forget", joins, "--release", "--force")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Tail(w.Log(fleet.HubName)))
			t.Log(process.Tail(w.Log(fleet.AgentName(away))))
		}
	})
	return w
}

// stay runs the agent of a member in this process, as it is but for one thing: what is drawn by
// lot, when to renew within an hour, is always at once.
func (w *world) stay(member string) {
	w.t.Helper()
	w.stop(fleet.AgentName(member))
	credentials, err := registration.OpenCredentials(registration.KeepOptions{
		StateDir: w.StateDir(member), Clock: clock.RealClock{}, Random: func() float64 { return 0 },
	})
	w.g.Expect(err).NotTo(HaveOccurred())
	kinds, err := builtin.New(vm.Options{})
	w.g.Expect(err).NotTo(HaveOccurred())
	config, err := w.Config(member)
	w.g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	kept, ran := make(chan error, 1), make(chan error, 1)
	go func() { kept <- credentials.Keep(ctx) }()
	go func() {
		err := setup.Run(ctx, setup.Options{
			Hub: credentials.Config(), Member: config, Cluster: member, Interpreter: kinds, Clock: clock.RealClock{}, Version: "test",
			Trust:              credentials.Trust,
			StatusFrequency:    setup.DefaultStatusFrequency,
			LeaseDuration:      setup.DefaultLeaseDuration,
			LeaseRenewFraction: setup.DefaultLeaseRenewFraction,
		})
		w.ended <- err
		ran <- err
	}()
	w.t.Cleanup(func() {
		cancel()
		for _, done := range []chan error{ran, kept} {
			if err := <-done; err != nil {
				w.t.Error(err)
			}
		}
	})
	w.eventually(func(g Gomega) { g.Expect(w.status(g)).To(MatchRegexp(`(?m)^` + member + ` +fairlead-ca`)) })
}

// stayed says that the agent in this process was never started again.
func (w *world) stayed() {
	w.t.Helper()
	w.g.Expect(w.ended).NotTo(Receive())
}

// restartHub kills the hub and starts it again.
func (w *world) restartHub() {
	w.t.Helper()
	w.g.Expect(w.Kill(w.t.Context(), fleet.HubName)).To(Succeed())
	w.g.Expect(w.StartHub(w.t.Context())).To(Succeed())
	w.ready(stays)
}

func (w *world) stop(name string) {
	w.t.Helper()
	w.g.Expect(w.Stop(w.t.Context(), name)).To(Succeed())
}

func (w *world) eventually(check func(g Gomega)) {
	w.t.Helper()
	w.g.Eventually(check).WithTimeout(patience).WithPolling(poll).Should(Succeed())
}

func (w *world) kubectl(name string, args ...string) string {
	w.t.Helper()
	out, err := w.Kubectl(w.t.Context(), name, args...)
	w.g.Expect(err).NotTo(HaveOccurred())
	return out
}

// hub runs a command of the operator of the hub.
func (w *world) hub(args ...string) string {
	w.t.Helper()
	out, err := w.Run(w.t.Context(), "hub", append(args, "--kubeconfig", w.Kubeconfig(fleet.HubName))...)
	w.g.Expect(err).NotTo(HaveOccurred())
	return out
}

func (w *world) mustAgent(args ...string) {
	w.t.Helper()
	_, err := w.Run(w.t.Context(), "agent", args...)
	w.g.Expect(err).NotTo(HaveOccurred())
}

// rejoin returns the arguments of the join command for a member that comes back.
func (w *world) rejoin(member string) []string {
	w.t.Helper()
	_, rest, found := strings.Cut(w.hub("token", "create", "--rejoin", member), "agent join ")
	w.g.Expect(found).To(BeTrue())
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Fields(line)
}

// runAgent runs an agent until the test ends.
func (w *world) runAgent(name string, args ...string) *process.Process {
	w.t.Helper()
	p, err := process.Start(process.Spec{Executable: w.Program("agent"), Args: append([]string{"run"}, args...), Log: w.Log("new-" + name)})
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

func (w *world) log(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.Log(name))
	w.g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// copyAdmin keeps the administrator's kubeconfig as it is now.
func (w *world) copyAdmin() string {
	w.t.Helper()
	data, err := os.ReadFile(w.Kubeconfig(fleet.HubName))
	w.g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.t.TempDir(), "copy.kubeconfig")
	w.g.Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
	return path
}

// reaches says whether the hub is reached with a kubeconfig.
func (w *world) reaches(kubeconfig string) error {
	_, err := w.Run(w.t.Context(), "hub", "clusters", "--kubeconfig", kubeconfig)
	return err
}

// send has a ConfigMap sent to a cluster, and waits until the hub says that it is there.
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
	w.eventually(func(g Gomega) {
		out, err := w.Kubectl(w.t.Context(), fleet.HubName, "get", "works.work.karmada.io", "-n", "karmada-es-"+target, "-o",
			`jsonpath={range .items[*]}{.spec.workload.manifests[0].metadata.name}={.status.conditions[?(@.type=="Applied")].status}{"\n"}{end}`)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(ContainSubstring(name + "=True"))
	})
}
