package machines

import (
	"syscall"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// mostSilence is the timeout for an agent to switch to another hub. The documented time is twenty-five seconds on an
// idle machine; this one runs other tests as well.
const mostSilence = 2 * time.Minute

// aMachineHangs freezes all processes of the leader that the agent talks to: the kernel still accepts connections,
// which stay silent.
func (w *world) aMachineHangs() {
	t, g, ctx := w.t, NewWithT(w.t), w.t.Context()
	w.secondLeads()
	before, err := w.works(ctx, fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	other, err := w.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	renewed := func(g Gomega) time.Time {
		lease := &coordinationv1.Lease{}
		g.Expect(other.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: "edge-1"}, lease)).To(Succeed())
		return lease.Spec.RenewTime.Time
	}
	g.Expect(w.Signal(second, syscall.SIGSTOP)).To(Succeed())
	began, since := time.Now(), renewed(g)
	g.Eventually(renewed).WithTimeout(mostSilence).WithPolling(poll).Should(BeTemporally(">", since))
	t.Logf("the agent talks to another hub %.1f s after the machine of the first hung", time.Since(began).Seconds())
	var now string
	w.eventually(func(g Gomega) {
		now, err = w.works(ctx, fleet.HubName)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(now).NotTo(Or(BeEmpty(), Equal(before)))
	})
	t.Logf("another hub works after %.1f s", time.Since(began).Seconds())
	w.send(fleet.HubName)
	t.Logf("a change is in the member after %.1f s", time.Since(began).Seconds())

	// The frozen hub resumes after losing its turn, exits, and is restarted.
	g.Expect(w.Signal(second, syscall.SIGCONT)).To(Succeed())
	g.Eventually(w.second.Done()).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(w.log(second)).To(ContainSubstring("start it again"), "it says what to do")
	w.restarts()
	w.send(second)
}
