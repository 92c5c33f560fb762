package rollout

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/stagetest"
)

// TestAHubThatDoesNotSeeTheStrategyEndsNoRollout has a hub take over whose cache shows bindings from before they had a strategy.
func TestAHubThatDoesNotSeeTheStrategyEndsNoRollout(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 1, canaryThenRest())
	before := w.rollout(g)
	w.stopHub()
	w.startHub(func(o *cache.Options) {
		for of, by := range o.ByObject {
			if _, ok := of.(*workv1alpha2.ResourceBinding); ok {
				by.Transform = func(obj any) (any, error) {
					if b, ok := obj.(*workv1alpha2.ResourceBinding); ok {
						delete(b.Annotations, contract.RolloutStrategyAnnotation)
					}
					return obj, nil
				}
				o.ByObject[of] = by
			}
		}
	})
	live := "GET resourcebindings/" + w.key().Name
	looks := func() int { return strings.Count(strings.Join(w.writes.requests(), "\n")+"\n", live+"\n") }
	g.Eventually(looks, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "it looks again and again")
	after := w.rollout(g)
	g.Expect(after.UID).To(Equal(before.UID))
	g.Expect(after.DeletionTimestamp).To(BeNil())
	g.Expect(w.writes.requests()).NotTo(ContainElement(HavePrefix("DELETE")))

	// A strategy that was really removed ends the rollout.
	w.stopHub()
	b := &workv1alpha2.ResourceBinding{}
	b.Namespace, b.Name = w.namespace, w.key().Name
	stagetest.Change(t, w.client, b, func() { delete(b.Annotations, contract.RolloutStrategyAnnotation) })
	w.startHub()
	g.Eventually(func() error {
		return w.client.Get(t.Context(), client.ObjectKeyFromObject(before), before)
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(Succeed())
}
