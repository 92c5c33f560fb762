package setup_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestTheHubLearnsHowTheMemberIs(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "described")
	g.Eventually(func(g Gomega) {
		status := w.cluster(g).Status
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, clusterv1alpha1.ClusterReady)).To(BeTrue())
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, clusterv1alpha1.ClusterCompleteAPIEnablements)).To(BeTrue())
		g.Expect(status.KubernetesVersion).To(HavePrefix("v1."))
		g.Expect(status.APIEnablements).To(ContainElement(And(
			HaveField("GroupVersion", "apps/v1"),
			HaveField("Resources", ContainElement(clusterv1alpha1.APIResource{Name: "deployments", Kind: "Deployment"})))))
		g.Expect(status.NodeSummary).NotTo(BeNil())
	}).WithTimeout(waitTimeout).Should(Succeed())

	// Without changes only the lease is written. Retried, since other tests create nodes now and then.
	g.Eventually(func(g Gomega) {
		before := clusterWrites(w)
		renewals := len(w.writes.about("/leases/"))
		g.Eventually(func() int { return len(w.writes.about("/leases/")) }).WithTimeout(waitTimeout).Should(BeNumerically(">=", renewals+3))
		g.Expect(clusterWrites(w)).To(Equal(before))
	}).WithTimeout(waitTimeout).Should(Succeed())
	lease := &coordinationv1.Lease{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: w.name}, lease)).To(Succeed())
	g.Expect(*lease.Spec.HolderIdentity).To(Equal(w.name))
	g.Expect(*lease.Spec.LeaseDurationSeconds).To(Equal(int32(4)))
	g.Expect(lease.Spec.RenewTime.Time).To(BeTemporally("~", time.Now(), waitTimeout))
	g.Expect(lease.ManagedFields).To(BeEmpty(), "nobody needs them, and they would travel with each renewal")
}

// TestCountersAreReportedSeldom: a change that is put back costs no write of the Cluster, until it
// is time for one; here that is every half a minute.
func TestCountersAreReportedSeldom(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "counted")
	w.work(t, "settings", w.configMap("settings"))
	live := &corev1.ConfigMap{}
	g.Eventually(func(g Gomega) {
		g.Expect(meta.IsStatusConditionTrue(w.cluster(g).Status.Conditions, clusterv1alpha1.ClusterReady)).To(BeTrue())
		g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: "settings"}, live)).To(Succeed())
	}).WithTimeout(waitTimeout).Should(Succeed())
	first := w.cluster(g).Status.Agent
	g.Expect(first).NotTo(BeNil(), "it went with the first status")
	g.Expect(first.Restarts).To(BeZero())

	before := live.DeepCopy()
	live.Data["a"] = "theirs"
	g.Expect(w.client.Patch(t.Context(), live, client.MergeFrom(before))).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
		g.Expect(live.Data).To(HaveKeyWithValue("a", before.Data["a"]))
	}).WithTimeout(waitTimeout).Should(Succeed())

	g.Eventually(func(g Gomega) {
		g.Expect(w.cluster(g).Status.Agent.DriftRepaired).To(BeEquivalentTo(1))
	}).WithTimeout(time.Minute + waitTimeout).Should(Succeed())
	// A change of nodes, which other tests create, is reported at once, together with the drift: count only the
	// writes that have nothing but the agent's part.
	alone := slices.DeleteFunc(w.writes.about("/clusters/"+w.name+"/status"), func(line string) bool {
		return !regexp.MustCompile(`"status":\{"agent":\{[^{}]*\}\}`).MatchString(line)
	})
	g.Expect(len(alone)).To(BeNumerically("<=", 1))
	if len(alone) == 1 {
		g.Expect(w.cluster(g).Status.Agent.Time.Sub(first.Time.Time)).To(BeNumerically(">=", 30*time.Second))
	}
}

func TestAnAgentThatIsAliveTakesBackWhatTheHubConcluded(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "alive")
	ready := func(g Gomega) {
		g.Expect(meta.IsStatusConditionTrue(w.cluster(g).Status.Conditions, clusterv1alpha1.ClusterReady)).To(BeTrue())
	}
	g.Eventually(ready).WithTimeout(waitTimeout).Should(Succeed())
	c := w.cluster(g)
	before := c.DeepCopy()
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionUnknown, Reason: clusterv1alpha1.ReasonClusterStatusUnknown,
	})
	g.Expect(w.client.Status().Patch(t.Context(), c, client.MergeFrom(before))).To(Succeed())
	g.Eventually(ready).WithTimeout(time.Minute).Should(Succeed())
}

func TestNodesAndPodsAreSummedUp(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "summed")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "summed-node"}}
	g.Expect(w.client.Create(t.Context(), node)).To(Succeed())
	before := node.DeepCopy()
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	g.Expect(w.client.Status().Patch(t.Context(), node, client.MergeFrom(before))).To(Succeed())
	w.changeCluster(t, func(c *clusterv1alpha1.Cluster) {
		c.Spec.ResourceModels = []clusterv1alpha1.ResourceModel{
			{Grade: 0, Ranges: []clusterv1alpha1.ResourceModelRange{{Name: corev1.ResourceCPU, Min: resource.MustParse("0"), Max: resource.MustParse("2")}}},
			{Grade: 1, Ranges: []clusterv1alpha1.ResourceModelRange{{Name: corev1.ResourceCPU, Min: resource.MustParse("2"), Max: resource.MustParse("8")}}},
		}
	})
	g.Eventually(func(g Gomega) {
		status := w.cluster(g).Status
		g.Expect(status.NodeSummary).To(Equal(&clusterv1alpha1.NodeSummary{TotalNum: 1, ReadyNum: 1}))
		g.Expect(status.ResourceSummary).NotTo(BeNil())
		g.Expect(status.ResourceSummary.Allocatable.Cpu().String()).To(Equal("4"))
		g.Expect(status.ResourceSummary.Allocatable.Memory().String()).To(Equal("8Gi"))
		g.Expect(status.ResourceSummary.AllocatableModelings).To(Equal([]clusterv1alpha1.AllocatableModeling{{Grade: 0}, {Grade: 1, Count: 1}}))
	}).WithTimeout(waitTimeout).Should(Succeed())
}
