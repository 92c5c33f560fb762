package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

// TestWhatAnAgentCountsIsAMetricOfTheHub changes an object in a member: the agent, which nobody scrapes, reverts that,
// and the hub's metrics count it. The count is sent with the next status write, here because the namespace's remaining
// quota has changed.
func TestWhatAnAgentCountsIsAMetricOfTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "counted", "colour", "blue").Obj()
	s.create(t, template, builder.MakePolicy(ns, "counted").Select("v1", "ConfigMap", "counted").Clusters("edge-2").Obj())
	var live *unstructured.Unstructured
	eventually(t, func(g Gomega) { live = s.inMember(t, g, "edge-2", template) })
	report := func(g Gomega) *clusterv1alpha1.AgentReport {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Name: "edge-2"}, c)).To(Succeed())
		g.Expect(c.Status.Agent).NotTo(BeNil(), "it went with the first status")
		return c.Status.Agent
	}
	var before *clusterv1alpha1.AgentReport
	eventually(t, func(g Gomega) { before = report(g) })
	g.Expect(before.Started.Time).To(BeTemporally("<=", before.Time.Time))

	member := s.member("edge-2").Client(t)
	changed := live.DeepCopy()
	g.Expect(unstructured.SetNestedField(changed.Object, "red", "data", "colour")).To(Succeed())
	g.Expect(member.Patch(t.Context(), changed, client.MergeFrom(live))).To(Succeed())
	eventually(t, func(g Gomega) {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "edge-2", template).Object, "data")
		g.Expect(data).To(HaveKeyWithValue("colour", "blue"))
	})
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}
	g.Expect(member.Create(t.Context(), quota)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(report(g).DriftRepaired).To(BeNumerically(">", before.DriftRepaired))
		there := s.scrape(g)
		g.Expect(value(there, "fairlead_hub_agent_drift_repaired_total", "edge-2")).To(BeNumerically(">", before.DriftRepaired))
		g.Expect(value(there, "fairlead_hub_agent_restarts_total", "edge-2")).To(BeEquivalentTo(0))
	})
	g.Expect(report(g).Time.Time).To(BeTemporally("~", time.Now(), waitTimeout+time.Minute))
}
