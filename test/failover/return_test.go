package failover

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/hollow"
)

// returning is the number of agents that return at once. The hub must start beside them.
const returning = 40

// hollowAgents joins agents without members to the fleet, with lines, until the test ends.
func (w *world) hollowAgents(t *testing.T) *hollow.Fleet {
	t.Helper()
	config, err := w.Config(fleet.HubName)
	w.g.Expect(err).NotTo(HaveOccurred())
	agents, err := hollow.New(t.Context(), hollow.Options{
		Hub: config, PKI: filepath.Join(w.Dir, fleet.HubName, "pki"), Dir: t.TempDir(), Lines: true,
	})
	w.g.Expect(err).NotTo(HaveOccurred())
	clusters := make([]*clusterv1alpha1.Cluster, returning)
	for i := range clusters {
		clusters[i] = builder.MakeCluster(fmt.Sprintf("hollow-%d", i)).Obj()
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		for _, c := range clusters {
			w.g.Expect(client.IgnoreNotFound(w.hub.Delete(ctx, c))).To(Succeed())
		}
		w.g.Eventually(func(g Gomega) {
			for _, c := range clusters {
				g.Expect(w.hub.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Satisfy(apierrors.IsNotFound))
			}
		}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
	})
	w.g.Expect(agents.Join(t.Context(), clusters...)).To(Succeed())
	w.g.Expect(agents.AwaitLines(t.Context())).To(Succeed())
	return agents
}

// lostSince returns the hollow clusters that a hub considered lost since a time, or considers lost now.
func (w *world) lostSince(t *testing.T, g Gomega, since time.Time) []string {
	t.Helper()
	var list clusterv1alpha1.ClusterList
	g.Expect(w.hub.List(t.Context(), &list)).To(Succeed())
	var out []string
	found := 0
	for i := range list.Items {
		c := &list.Items[i]
		if !strings.HasPrefix(c.Name, "hollow-") {
			continue
		}
		found++
		ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.LastTransitionTime.After(since) || len(c.Spec.Taints) > 0 {
			out = append(out, fmt.Sprintf("%s: %v %v", c.Name, ready, c.Spec.Taints))
		}
	}
	g.Expect(found).To(Equal(returning))
	return out
}

// TestAHubThatStartsIsReturnedToAndLosesNobody kills a hub that knows only from lines that its clusters are alive. All
// of their agents return while it starts.
func TestAHubThatStartsIsReturnedToAndLosesNobody(t *testing.T) {
	w := start(t)
	g, ctx := w.g, t.Context()
	agents := w.hollowAgents(t)
	w.apply(t, silence+strings.Replace(deployment("returns", atOnce, agents.Names()[:4]...), "nodeSelector: {pool: shop}", "", 1))
	placed := func(g Gomega) []workv1alpha2.TargetCluster { return w.binding(t, g, "returns").Spec.Clusters }
	w.eventually(t, func(g Gomega) {
		g.Expect(placed(g)).NotTo(BeEmpty())
		g.Expect(w.ready(t, g)).To(Equal(metav1.ConditionTrue))
	})
	before := placed(g)

	killed := time.Now().Truncate(time.Second)
	g.Expect(w.Kill(ctx, fleet.HubName)).To(Succeed())
	g.Expect(w.StartHub(ctx)).To(Succeed())
	w.eventually(t, func(g Gomega) {
		g.Expect(w.lostSince(t, g, killed)).To(BeEmpty())
		for _, name := range agents.Names() {
			lease := &coordinationv1.Lease{}
			g.Expect(w.hub.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: name}, lease)).To(Succeed())
			g.Expect(lease.Spec.RenewTime.After(killed)).To(BeTrue(), "%s renews its lease", name)
		}
	})
	g.Expect(agents.AwaitLines(ctx)).To(Succeed())
	// Clusters unheard since the hub's start would be given up before one that falls silent only now.
	silent := agents.Names()[returning-1]
	agents.Silence(silent)
	w.eventually(t, func(g Gomega) { g.Expect(w.lostSince(t, g, killed)).To(ConsistOf(HavePrefix(silent + ":"))) })
	g.Expect(placed(g)).To(Equal(before))
	var events corev1.EventList
	g.Expect(w.hub.List(ctx, &events, client.InNamespace(corev1.NamespaceDefault))).To(Succeed())
	for i := range events.Items {
		if e := &events.Items[i]; strings.HasPrefix(e.InvolvedObject.Name, "returns") {
			g.Expect(e.Reason).NotTo(HavePrefix("EvictWorkloadFromCluster"), e.Message)
		}
	}
}
