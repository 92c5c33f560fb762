package chaos

import (
	"maps"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// TestTheHubIsRestoredFromAnOlderSnapshot restores the hub from a snapshot: deleted objects come back, changes are
// undone, and objects unknown to the hub are left alone, even those recreated after a deletion that is still pending in
// the snapshot.
func TestTheHubIsRestoredFromAnOlderSnapshot(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	w.act(t, 60)
	again := w.create(t)
	w.isWell(t)

	// One deletion waits for the agent when the snapshot is taken, and the object is recreated afterwards.
	g.Expect(f.Kill(t.Context(), fleet.AgentName(member))).To(Succeed())
	w.remove(t, again)
	eventually(t, func(g Gomega) { g.Expect(ending(t, g, w.hub)).To(BeNumerically(">", 0)) })
	restore := snapshot(t, f, fleet.HubName)
	before := maps.Clone(w.model)
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.isWell(t)
	w.act(t, 60)
	w.create(t)
	g.Expect(w.hub.Create(t.Context(), w.object(again, 0))).To(Succeed())
	w.model[again] = 0
	w.isWell(t)

	restore()
	forgotten := w.goBack(before)
	g.Expect(forgotten).To(ContainElement(again))
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.isWell(t, forgotten...)
	eventually(t, func(g Gomega) { g.Expect(unclaimed(t, g, w.hub)).To(BeNumerically(">=", len(forgotten))) })
	w.act(t, 20)
	w.isWell(t, forgotten...)
}

// ending returns how many Works of the member are being deleted.
func ending(t *testing.T, g Gomega, hub client.Client) (n int) {
	t.Helper()
	var list workv1alpha1.WorkList
	g.Expect(hub.List(t.Context(), &list, client.InNamespace(contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, member)))).To(Succeed())
	for i := range list.Items {
		if !list.Items[i].DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}

// TestWorksVanish deletes Works behind the agent's back, as no user of the API can: when the agent comes back they do
// not exist, and it never saw their deletion.
func TestWorksVanish(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	w.act(t, 40)
	w.create(t)
	w.isWell(t)
	all, before := len(w.model), unclaimed(t, g, w.hub) // other tests leave some

	// Run the hub's API without its stages, which would recreate the Works; these are frozen until they are killed.
	g.Expect(f.Kill(t.Context(), fleet.AgentName(member))).To(Succeed())
	stages, err := f.PID(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stages).NotTo(BeZero())
	g.Expect(syscall.Kill(stages, syscall.SIGSTOP)).To(Succeed())
	works := client.InNamespace(contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, member))
	eventually(t, func(g Gomega) {
		var list workv1alpha1.WorkList
		g.Expect(w.hub.List(t.Context(), &list, works)).To(Succeed())
		for i := range list.Items {
			work := &list.Items[i]
			work.Finalizers = nil
			g.Expect(w.hub.Update(t.Context(), work)).To(Succeed())
			g.Expect(client.IgnoreNotFound(w.hub.Delete(t.Context(), work))).To(Succeed())
		}
		g.Expect(w.hub.List(t.Context(), &list, works)).To(Succeed())
		g.Expect(list.Items).To(BeEmpty())
	})

	g.Expect(f.StartAgent(member)).To(Succeed())
	eventually(t, func(g Gomega) { g.Expect(unclaimed(t, g, w.hub)).To(BeNumerically(">=", int(before)+all)) })
	g.Expect(w.look(t, g)).To(HaveLen(all), "what is merely absent deletes nothing")

	g.Expect(f.Kill(t.Context(), fleet.HubName)).To(Succeed())
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.isWell(t)
	eventually(t, func(g Gomega) { g.Expect(unclaimed(t, g, w.hub)).To(Equal(before), "claimed again") })
}

// unclaimed returns how many objects of the member belong to a Work that the hub does not have.
func unclaimed(t *testing.T, g Gomega, hub client.Client) int32 {
	t.Helper()
	c := &clusterv1alpha1.Cluster{}
	g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: member}, c)).To(Succeed())
	return c.Status.UnclaimedObjects
}
