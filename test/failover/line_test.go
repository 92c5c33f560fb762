package failover

import (
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// condition returns the condition Ready of edge-1.
func (w *world) condition(t *testing.T, g Gomega) metav1.Condition {
	t.Helper()
	c := &clusterv1alpha1.Cluster{}
	g.Expect(w.hub.Get(t.Context(), client.ObjectKey{Name: "edge-1"}, c)).To(Succeed())
	found := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	g.Expect(found).NotTo(BeNil())
	return *found
}

// rests waits until edge-1 is Ready by its line, so that its lease is renewed rarely.
func (w *world) rests(t *testing.T) {
	t.Helper()
	w.eventually(t, func(g Gomega) {
		g.Expect(w.condition(t, g).Status).To(Equal(metav1.ConditionTrue))
		lease := &coordinationv1.Lease{}
		g.Expect(w.hub.Get(t.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: "edge-1"}, lease)).To(Succeed())
		g.Expect(lease.Spec.LeaseDurationSeconds).To(HaveValue(BeNumerically(">=", contract.RestingLease.Seconds())))
	})
}

// TestALineTellsThatAnAgentIsGone loses a killed agent, and a frozen one, by their lines alone; and a killed hub loses
// no cluster. The reason tells how the loss was detected, because times mean little on a busy machine.
func TestALineTellsThatAnAgentIsGone(t *testing.T) {
	w := start(t)
	g, ctx := w.g, t.Context()
	w.rests(t)
	took := func(since time.Time) {
		w.eventually(t, func(g Gomega) {
			g.Expect(w.condition(t, g)).To(And(
				HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", clusterv1alpha1.ReasonAgentDisconnected)))
		})
		t.Logf("it took %s", time.Since(since).Round(poll))
	}
	now := time.Now()
	g.Expect(w.Kill(ctx, fleet.AgentName("edge-1"))).To(Succeed())
	took(now)
	g.Expect(w.Up(ctx)).To(Succeed())
	w.rests(t)

	now = time.Now()
	g.Expect(w.Signal(fleet.AgentName("edge-1"), syscall.SIGSTOP)).To(Succeed())
	took(now)
	now = time.Now()
	g.Expect(w.Signal(fleet.AgentName("edge-1"), syscall.SIGCONT)).To(Succeed())
	w.rests(t)
	t.Logf("it was back after %s", time.Since(now).Round(poll))

	before := w.condition(t, g)
	g.Expect(w.Kill(ctx, fleet.HubName)).To(Succeed())
	g.Expect(w.StartHub(ctx)).To(Succeed())
	w.eventually(t, func(g Gomega) {
		shown, err := w.Run(ctx, "hub", "clusters", "--kubeconfig", w.Kubeconfig(fleet.HubName))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(shown).To(MatchRegexp(`(?m)^edge-1 .* up \d`))
	})
	w.rests(t)
	g.Expect(w.condition(t, g).LastTransitionTime).To(Equal(before.LastTransitionTime), "nobody was unknown")
}
