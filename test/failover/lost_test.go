package failover

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// silence is a policy that taints unreachable clusters.
const silence = `
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: silence}
spec:
  addOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: ["True"]}]
  removeOnConditions: [{conditionType: Ready, operator: In, statusValues: ["True"]}]
  taints: [{key: lost, effect: NoExecute}]
`

// atOnce is a toleration of an application that is evicted without waiting five minutes.
const atOnce = `{key: lost, operator: Exists, effect: NoExecute, tolerationSeconds: 0}`

// canary is a strategy in which edge-1 gets a change first, and the others after an approval.
const canary = `
---
apiVersion: fairlead.dev/v1alpha1
kind: RolloutStrategy
metadata: {name: canary}
spec:
  settle: 100ms
  firstTime: AllAtOnce
  waves: [{name: canary, clusters: {clusterNames: [edge-1]}, approval: After}, {name: rest}]
`

// deployment returns YAML of a Deployment of two replicas, which need nodes with a label, and of its policy: the first
// group of clusters with capacity.
func deployment(name, tolerations string, groups ...string) string {
	var terms strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&terms, "{affinityName: %[1]s, clusterNames: [%[1]s]},", g)
	}
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      nodeSelector: {pool: shop}
      containers: [{name: main, image: example.com/main}]
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: %[1]s, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: %[1]s}]
  placement:
    clusterAffinities: [%[2]s]
    clusterTolerations: [%[3]s]
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
`, name, terms.String(), tolerations)
}

// TestAClusterIsLostAndComesBack follows four applications of a cluster whose agent dies: one that moves at once, one
// that waits as all do by default, one that has no other cluster, and one whose change had just reached this cluster as
// the canary. The hub is killed in the middle.
func TestAClusterIsLostAndComesBack(t *testing.T) {
	w := start(t)
	g, ctx := w.g, t.Context()
	w.pool(t, "edge-1", true)
	w.pool(t, "edge-2", false)
	w.apply(t, silence+
		deployment("moves", atOnce, "edge-1", "edge-2")+
		deployment("waits", "", "edge-1", "edge-2")+
		deployment("pinned", atOnce, "edge-1")+
		canary+deployment("rolls", atOnce, "edge-1", "edge-2"))
	_, err := w.Kubectl(ctx, fleet.HubName, "annotate", "propagationpolicy/rolls", contract.RolloutStrategyAnnotation+"=canary")
	g.Expect(err).NotTo(HaveOccurred())
	w.eventually(t, func(g Gomega) {
		for _, name := range []string{"moves", "waits", "pinned", "rolls"} {
			d := w.deployment(t, g, "edge-1", name)
			g.Expect(d).NotTo(BeNil(), name)
			g.Expect(d.Status.ReadyReplicas).To(BeEquivalentTo(2), name)
			items := w.binding(t, g, name).Status.AggregatedStatus
			g.Expect(items).To(HaveLen(1), name)
			g.Expect(items[0].Health).To(Equal(workv1alpha1.Healthy), name)
		}
	})
	w.awaitRollout(t, "rolls", 1, fairleadv1alpha1.RolloutCompleted)
	_, err = w.Kubectl(ctx, fleet.HubName, "set", "image", "deployment/rolls", "main=example.com/main:2")
	g.Expect(err).NotTo(HaveOccurred())
	w.awaitRollout(t, "rolls", 2, fairleadv1alpha1.RolloutWaiting)
	g.Expect(image(w.deployment(t, g, "edge-1", "rolls"))).To(Equal("example.com/main:2"))
	before := w.uids(t, g, "edge-1")

	g.Expect(w.Kill(ctx, fleet.AgentName("edge-1"))).To(Succeed())
	w.eventually(t, func(g Gomega) {
		g.Expect(w.ready(t, g)).To(Equal(metav1.ConditionUnknown))
		g.Expect(w.where(t, g, "moves")).To(Equal([]string{"edge-2"}))
		g.Expect(w.deployment(t, g, "edge-2", "moves")).NotTo(BeNil())
		g.Expect(w.evicting(t, g, "moves")).To(Equal(workv1alpha2.ReasonWaitingForCluster))
		g.Expect(w.evicting(t, g, "pinned")).To(Equal(workv1alpha2.ReasonNowhereToGo))
	})

	// The change may be what cut the cluster off, so the replacement runs the stable revision.
	w.eventually(t, func(g Gomega) {
		g.Expect(w.where(t, g, "rolls")).To(Equal([]string{"edge-2"}))
		d := w.deployment(t, g, "edge-2", "rolls")
		g.Expect(d).NotTo(BeNil())
		g.Expect(d.Generation).To(BeEquivalentTo(1), "it had no other content before")
		g.Expect(image(d)).To(Equal("example.com/main"))
	})

	// The new copy has no node yet, and the hub dies: the objects in edge-1 stay.
	g.Expect(w.Kill(ctx, fleet.HubName)).To(Succeed())
	g.Expect(w.StartHub(ctx)).To(Succeed())
	all := map[string]bool{"moves-deployment": true, "waits-deployment": true, "pinned-deployment": true, "rolls-deployment": true}
	w.eventually(t, func(g Gomega) {
		b := w.binding(t, g, "moves")
		g.Expect(b.Status.AggregatedStatus).To(ContainElement(And(
			HaveField("ClusterName", "edge-2"), HaveField("Health", workv1alpha1.Unhealthy))), "edge-2 reports to the hub that was started again")
		g.Expect(w.works(t, g, "edge-1")).To(Equal(all))
	})
	explained, err := w.Run(ctx, "hub", "explain", "deployment/moves", "-n", "default", "--kubeconfig", w.Kubeconfig(fleet.HubName))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(explained).To(And(ContainSubstring("edge-1 to edge-2"), ContainSubstring("waiting for 2 of 2 replicas")))

	w.pool(t, "edge-2", true)
	w.eventually(t, func(g Gomega) {
		g.Expect(w.deployment(t, g, "edge-2", "moves").Status.ReadyReplicas).To(BeEquivalentTo(2))
		g.Expect(w.binding(t, g, "moves").Status.AggregatedStatus).To(ContainElement(And(
			HaveField("ClusterName", "edge-2"), HaveField("Health", workv1alpha1.Healthy))))
	})
	g.Expect(w.works(t, g, "edge-1")).To(Equal(all), "nothing is deleted before the cluster is heard from")
	g.Expect(w.uids(t, g, "edge-1")).To(Equal(before))
	g.Expect(w.where(t, g, "waits")).To(Equal([]string{"edge-1"}))

	g.Expect(w.StartAgent("edge-1")).To(Succeed())
	delete(before, "moves")
	delete(before, "rolls")
	w.eventually(t, func(g Gomega) {
		g.Expect(w.ready(t, g)).To(Equal(metav1.ConditionTrue))
		g.Expect(w.uids(t, g, "edge-1")).To(Equal(before), "exactly what moved away is removed")
		g.Expect(w.works(t, g, "edge-1")).To(Equal(map[string]bool{"waits-deployment": true, "pinned-deployment": true}))
		for _, name := range []string{"waits", "pinned"} {
			g.Expect(w.where(t, g, name)).To(Equal([]string{"edge-1"}), name)
			g.Expect(w.evicting(t, g, name)).To(BeEmpty(), name)
			g.Expect(w.deployment(t, g, "edge-1", name).Status.ReadyReplicas).To(BeEquivalentTo(2), name)
		}
		g.Expect(w.where(t, g, "moves")).To(Equal([]string{"edge-2"}), "it stays where it went")
	})

	// edge-2 still runs the stable revision, whatever was killed meanwhile; the change reaches it in its turn.
	g.Expect(image(w.deployment(t, g, "edge-2", "rolls"))).To(Equal("example.com/main"))
}
