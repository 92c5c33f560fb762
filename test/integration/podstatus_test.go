package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/test/builder"
)

// TestPodsSayWhyAWorkloadIsNotHealthy selects nodes that no member has.
func TestPodsSayWhyAWorkloadIsNotHealthy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "nowhere").Obj()
	g.Expect(unstructured.SetNestedStringMap(template.Object, map[string]string{"no": "where"}, "spec", "template", "spec", "nodeSelector")).To(Succeed())
	s.create(t, template, builder.MakePolicy(ns, "nowhere").Select("apps/v1", "Deployment", "nowhere").Clusters("edge-1").Obj())

	reasons := func(g Gomega) []workv1alpha1.PodReason {
		items := s.binding(t, g, template).Status.AggregatedStatus
		g.Expect(items).To(HaveLen(1))
		return items[0].PodReasons
	}
	eventually(t, func(g Gomega) {
		found := reasons(g)
		g.Expect(found).To(HaveLen(1))
		g.Expect(found[0].Reason).To(Equal("Unschedulable"))
		g.Expect(found[0].Message).To(ContainSubstring("nodes are available"))
		g.Expect(found[0].Pod).To(HavePrefix("nowhere-"))
		g.Expect(found[0].Pods).To(BeEquivalentTo(1))
	})
	s.update(t, template, func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, "spec", "template", "spec", "nodeSelector")
	})
	eventually(t, func(g Gomega) {
		g.Expect(s.binding(t, g, template).Status.AggregatedStatus[0].Health).To(Equal(workv1alpha1.Healthy))
		g.Expect(reasons(g)).To(BeEmpty())
	})
}
