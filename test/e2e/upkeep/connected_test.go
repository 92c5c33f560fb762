package upkeep

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
	"fairlead.dev/test/stagetest"
)

// exchange is the fleet as used by the test of the certificate authority.
type exchange struct {
	*fleettest.World
	// ended receives the result of the agent in this process.
	ended chan error
}

// newExchange returns the fleet. The agent of the member that joins again each time is stopped.
func newExchange(t *testing.T) *exchange {
	t.Helper()
	w := &exchange{World: shared.World(t, fleet.HubName, fleet.AgentName(away)), ended: make(chan error, 1)}
	w.stop(fleet.AgentName(joins))
	w.Operate("forget", joins, "--force")
	w.Operate("forget", joins, "--release")
	return w
}

// stay runs the agent of a member in this process, unmodified except that the random delay of renewals, up to an hour,
// is zero.
func (w *exchange) stay(member string) {
	w.T.Helper()
	w.stop(fleet.AgentName(member))
	credentials, err := registration.OpenCredentials(registration.KeepOptions{
		StateDir: w.StateDir(member), Clock: clock.RealClock{}, Random: func() float64 { return 0 },
	})
	w.G.Expect(err).NotTo(HaveOccurred())
	kinds, err := store.BuiltIn(vm.Options{})
	w.G.Expect(err).NotTo(HaveOccurred())
	config, err := w.Config(member)
	w.G.Expect(err).NotTo(HaveOccurred())
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
			ShutdownTimeout:    stagetest.ShutdownTimeout,
		})
		w.ended <- err
		ran <- err
	}()
	w.T.Cleanup(func() {
		cancel()
		for _, done := range []chan error{ran, kept} {
			if err := <-done; err != nil {
				w.T.Error(err)
			}
		}
	})
	w.Eventually(func(g Gomega) { g.Expect(w.status(g)).To(MatchRegexp(`(?m)^` + member + ` +fairlead-ca`)) })
}

// stayed checks that the agent in this process was never restarted.
func (w *exchange) stayed() {
	w.T.Helper()
	w.G.Expect(w.ended).NotTo(Receive())
}

// restartHub kills the hub and starts it again.
func (w *exchange) restartHub() {
	w.T.Helper()
	w.G.Expect(w.Kill(w.T.Context(), fleet.HubName)).To(Succeed())
	w.G.Expect(w.StartHub(w.T.Context())).To(Succeed())
	w.AwaitReady(stays)
}

func (w *exchange) stop(name string) {
	w.T.Helper()
	w.G.Expect(w.Stop(w.T.Context(), name)).To(Succeed())
}

func (w *exchange) mustAgent(args ...string) {
	w.T.Helper()
	_, err := w.Run(w.T.Context(), "agent", args...)
	w.G.Expect(err).NotTo(HaveOccurred())
}

// rejoin returns the arguments of the join command for a member that joins again.
func (w *exchange) rejoin(member string) []string {
	w.T.Helper()
	_, rest, found := strings.Cut(w.Operate("token", "create", "--rejoin", member), "agent join ")
	w.G.Expect(found).To(BeTrue())
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Fields(line)
}

func (w *exchange) log(name string) string {
	w.T.Helper()
	data, err := os.ReadFile(w.Log(name))
	w.G.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// copyAdmin copies the current administrator's kubeconfig.
func (w *exchange) copyAdmin() string {
	w.T.Helper()
	data, err := os.ReadFile(w.Kubeconfig(fleet.HubName))
	w.G.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.T.TempDir(), "copy.kubeconfig")
	w.G.Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
	return path
}

// reaches returns an error if the hub cannot be reached with a kubeconfig.
func (w *exchange) reaches(kubeconfig string) error {
	_, err := w.Run(w.T.Context(), "hub", "clusters", "--kubeconfig", kubeconfig)
	return err
}

// send propagates a ConfigMap to a cluster, and waits until the hub says that it is applied.
func (w *exchange) send(name, target string) {
	w.T.Helper()
	w.ApplyConfigMap(name, target)
	w.Eventually(func(g Gomega) {
		hub, err := w.Client(fleet.HubName)
		g.Expect(err).NotTo(HaveOccurred())
		work := &workv1alpha1.Work{}
		key := client.ObjectKey{Namespace: "karmada-es-" + target, Name: contract.WorkName("ConfigMap", "default", name)}
		g.Expect(hub.Get(w.T.Context(), key, work)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(work.Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	})
}
