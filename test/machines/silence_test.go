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

// mostSilence is how soon an agent must talk to another hub. Twenty-five seconds are promised on a machine that has nothing else to do;
// this one runs other tests beside.
const mostSilence = 2 * time.Minute

// aMachineHangs stops all processes of the hub that works and to which the agent talks: the kernel goes on accepting connections, on which
// nothing ever comes.
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

	// The one that hung wakes up after its turn, ends, and is started again.
	g.Expect(w.Signal(second, syscall.SIGCONT)).To(Succeed())
	g.Eventually(w.second.Done()).WithTimeout(waitTimeout).Should(BeClosed())
	g.Expect(w.log(second)).To(ContainSubstring("start it again"), "it says what to do")
	w.restarts()
	w.send(second)
}
