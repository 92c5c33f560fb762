package detector

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/plan"
	"fairlead.dev/test/stagetest"
)

// patch applies a merge patch to an object.
func (s *stage) patch(t *testing.T, obj client.Object, text string) {
	t.Helper()
	NewWithT(t).Expect(s.client.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

// TestLiveTemplateGetsItsOwnStrategy edits a template again, together with its strategy, between the event of an edit and the live read
// that the event causes. The binding must never record the second edit as seen together with the first strategy. It runs alone, because the
// hubs of other tests would do the work of this one.
func TestLiveTemplateGetsItsOwnStrategy(t *testing.T) {
	g := NewWithT(t)
	s := start(t)
	web := s.deployment("web", 2)
	s.create(t, s.policy("web", named("apps/v1", "Deployment", "web")), web)
	s.eventually(t, "web-deployment", claimedBy("web"))
	s.stop()

	var edited atomic.Bool
	path := "/apis/apps/v1/namespaces/" + s.namespace + "/deployments/web"
	s.run(t, g, stagetest.Intercept(s.config, func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, path) {
			return nil, nil
		}
		ctx, live := context.WithoutCancel(r.Context()), s.deployment("web", 0)
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return nil, err
		}
		replicas, _, err := unstructured.NestedInt64(live.Object, "spec", "replicas")
		if err != nil || replicas != 3 || !edited.CompareAndSwap(false, true) {
			return nil, err
		}
		return nil, s.client.Patch(ctx, live, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+contract.RolloutStrategyAnnotation+`":"careful"}},"spec":{"replicas":4}}`)))
	}))
	s.settle(t)
	config := *s.config
	c, err := client.NewWithWatch(&config, client.Options{Scheme: s.client.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	shown, err := c.Watch(t.Context(), &workv1alpha2.ResourceBindingList{}, client.InNamespace(s.namespace), client.MatchingFields{"metadata.name": "web-deployment"})
	g.Expect(err).NotTo(HaveOccurred())
	defer shown.Stop()

	s.patch(t, web, `{"spec":{"replicas":3}}`)
	b := s.eventually(t, "web-deployment", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.Replicas).To(BeEquivalentTo(4))
		g.Expect(plan.StrategyOn(b)).To(Equal(plan.Strategy{Name: "careful"}))
	})
	for e := range shown.ResultChan() {
		is, ok := e.Object.(*workv1alpha2.ResourceBinding)
		g.Expect(ok).To(BeTrue())
		if e.Type == watch.Modified && is.Spec.Replicas == 4 {
			g.Expect(plan.StrategyOn(is)).To(Equal(plan.Strategy{Name: "careful"}), "at version %s", is.ResourceVersion)
		}
		if is.ResourceVersion == b.ResourceVersion {
			return
		}
	}
}
