package applications

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/builder"
)

func TestPoliciesListTheirApplications(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	busy := builder.MakePolicy("shop", "web").Select("apps/v1", "Deployment", "web").SelectLabel("v1", "ConfigMap", "a", "b").Priority(7).Obj()
	idle := builder.MakePolicy("shop", "none").Select("v1", "Secret", "").Obj()
	going := builder.MakePolicy("shop", "old").Select("v1", "Secret", "x").Obj()
	going.DeletionTimestamp = &metav1.Time{}
	everywhere := builder.MakePolicy("", "all").Select("v1", "ConfigMap", "").ClusterObj()
	everywhere.Spec.ResourceSelectors[0].Namespace = "shop"
	named := PolicyKey{Kind: "PropagationPolicy", Namespace: "shop", Name: "web"}
	out := Policies([]policyv1alpha1.Policy{busy, idle, going, everywhere}, []Application{
		{Policy: named, State: Healthy}, {Policy: named, State: Failing}, {Policy: named, State: Failing}, {},
	})
	g.Expect(out).To(HaveLen(4))
	g.Expect(out[0].Name).To(Equal("all"))
	g.Expect(out[0].Words()).To(Equal("every ConfigMap in shop"))
	g.Expect(out[1].Name).To(Equal("none"))
	g.Expect(out[1].Words()).To(Equal("every Secret"))
	g.Expect(out[1].Remark).To(HavePrefix("It has no objects"))
	g.Expect(out[2].Remark).To(Equal("It is being deleted."))
	g.Expect(out[3].Words()).To(Equal("Deployment web, ConfigMap with a=b"))
	g.Expect(out[3].Priority).To(Equal(int32(7)))
	g.Expect(out[3].Has).To(Equal(3))
	g.Expect(out[3].States).To(Equal(map[State]int{Healthy: 1, Failing: 2}))
	g.Expect(out[3].Remark).To(BeEmpty())
}
