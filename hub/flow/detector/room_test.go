package detector

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/plan"
	"fairlead.dev/test/stagetest"
)

// TestTooLargeBindingIsNotWritten covers a tenant who tries to fill a binding up to the limit of the API server, so that the hub
// could not record there that the application leaves a cluster. The strategy is written nevertheless.
func TestTooLargeBindingIsNotWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	p := s.policy("p", named("apps/v1", "Deployment", "web"))
	s.create(t, p, s.deployment("web", 2))
	named := func(n int) func(Gomega, *workv1alpha2.ResourceBinding) {
		return func(g Gomega, b *workv1alpha2.ResourceBinding) {
			g.Expect(b.Spec.Placement.ClusterAffinity.ClusterNames).To(HaveLen(n))
		}
	}
	s.eventually(t, "web-deployment", named(1))
	stagetest.Change(t, s.client, p, func() {
		for i := range 10_000 {
			p.Spec.Placement.ClusterAffinity.ClusterNames = append(p.Spec.Placement.ClusterAffinity.ClusterNames, fmt.Sprintf("%040d", i))
		}
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	})
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicyFailed) }, time.Minute, 50*time.Millisecond).
		Should(HaveExactElements(And(ContainSubstring("the binding would be too large"), ContainSubstring("name fewer"))))
	b := s.eventually(t, "web-deployment", by(plan.Strategy{Name: "careful"}))
	named(1)(g, b)

	stagetest.Change(t, s.client, p, func() { p.Spec.Placement.ClusterAffinity.ClusterNames = []string{"edge-1", "edge-2"} })
	s.eventually(t, "web-deployment", named(2))
}
