package machines

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// Timeouts allow for a machine that does other work too.
const (
	waitTimeout = 3 * time.Minute
	poll        = 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // the programs write their own logs
	os.Exit(m.Run())
}

// second is the name of the hub on the second machine; the first has the name of the fleet's hub.
const second = "hub-2"

// world is an etcd cluster, a hub on two machines and a member.
type world struct {
	*fleet.Fleet

	t      *testing.T
	etcd   *etcd
	second *process.Process
	// agentEnds stops the agent if it runs in this process.
	agentEnds func()
	// sent is the number of changes so far.
	sent int
}

// newWorld starts everything but the hub on the second machine. The path of the directory must be short.
func newWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("/tmp", "fairlead-machines-") //nolint:usetesting // see above
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(process.Remove(dir)).To(Succeed()) })
	binary, err := cluster.Executable("hub")
	g.Expect(err).NotTo(HaveOccurred())
	w := &world{t: t, etcd: startEtcd(t)}
	w.Fleet, err = fleet.New(fleet.Options{Bin: filepath.Dir(binary), Dir: dir, Clusters: 1, APIOnly: true, HubArgs: w.etcd.flags()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Tail(w.Log(fleet.HubName), w.Log(second), w.Log(fleet.AgentName("edge-1"))))
		}
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		g.Expect(w.Down(ctx)).To(Succeed())
	})
	g.Expect(w.Up(t.Context())).To(Succeed())
	return w
}

func (w *world) dataDir(hub string) string { return filepath.Join(w.Dir, hub) }

// startSecond starts the hub on the second machine, with the existing authority.
func (w *world) startSecond(more ...string) {
	w.t.Helper()
	g := NewWithT(w.t)
	var err error
	w.second, err = process.Start(process.Spec{Executable: w.Program("hub"), Log: w.Log(second), Args: append(append([]string{
		"serve", "--data-dir", w.dataDir(second), "--bind-address", "127.0.0.1", "--secure-port", "0",
		"--admin-kubeconfig", w.Kubeconfig(second), "--metrics-bind-address", "0", "--dashboard-bind-address", "0",
	}, w.HubArgs...), more...)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Adopt(second, w.second)).To(Succeed())
}

// restarts starts again the hubs that have exited, as their units would, until both answer: on a busy machine one may lose
// its leadership meanwhile.
func (w *world) restarts() {
	w.t.Helper()
	w.eventually(func(g Gomega) {
		if w.second.Ended() {
			w.startSecond()
		}
		g.Expect(w.StartHub(w.t.Context())).To(Succeed())
		_, err := w.works(w.t.Context(), second)
		g.Expect(err).NotTo(HaveOccurred(), process.Tail(w.Log(second)))
	})
}

// standsBy waits until a started hub takes part in the election, with its caches filled.
func (w *world) standsBy(hub string) {
	w.t.Helper()
	w.eventually(func(g Gomega) {
		log := w.log(hub)
		g.Expect(strings.LastIndex(log, "ttempting to acquire leader lease")).To(BeNumerically(">", strings.LastIndex(log, "Starting the embedded API")))
	})
}

// leads reports whether a hub is the leader: it was elected since its start. A hub that loses leadership exits.
func (w *world) leads(hub string) bool {
	w.t.Helper()
	log := w.log(hub)
	return strings.LastIndex(log, "uccessfully acquired lease") > strings.LastIndex(log, "Starting the embedded API")
}

// secondLeads makes the second hub the leader if the first has taken over, which may happen on a busy machine.
func (w *world) secondLeads() {
	w.t.Helper()
	w.standsBy(fleet.HubName)
	w.standsBy(second)
	if !w.leads(second) {
		w.stops(fleet.HubName)
		w.eventually(func(g Gomega) { g.Expect(w.leads(second)).To(BeTrue()) })
		w.restarts()
		w.standsBy(fleet.HubName)
	}
}

// stops ends hubs, as for a change of their files.
func (w *world) stops(hubs ...string) {
	w.t.Helper()
	for _, hub := range hubs {
		NewWithT(w.t).Expect(w.Stop(w.t.Context(), hub)).To(Succeed())
	}
}

// refused checks that the hub on the second machine does not start, for a reason.
func (w *world) refused(why string, more ...string) {
	w.t.Helper()
	g := NewWithT(w.t)
	w.startSecond(more...)
	g.Eventually(w.second.Done()).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(process.Tail(w.Log(second))).To(ContainSubstring(why))
}

// log returns the log of a program.
func (w *world) log(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.Log(name))
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// hub runs an operator's command on a machine.
func (w *world) hub(on string, args ...string) string {
	w.t.Helper()
	out, err := w.Run(w.t.Context(), "hub", append(args, "--data-dir", w.dataDir(on))...)
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
	return out
}

// share copies the authority of the first machine to the second.
func (w *world) share(flags ...string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "authority")
	w.hub(fleet.HubName, "ca", "export", file)
	w.hub(second, append([]string{"ca", "import", file}, flags...)...)
}

// works returns which hub leads, as reported by one of them.
func (w *world) works(ctx context.Context, asked string) (string, error) {
	c, err := w.Client(asked)
	if err != nil {
		return "", err
	}
	lease := &coordinationv1.Lease{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "fairlead-hub"}, lease); err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return *lease.Spec.HolderIdentity, nil
}

// eventually retries check until it passes.
func (w *world) eventually(check func(g Gomega)) {
	w.t.Helper()
	NewWithT(w.t).Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}
