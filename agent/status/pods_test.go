package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestPodsSayWhyAWorkloadIsNotHealthy takes a workload from broken to healthy, and restarts the agent in between.
func TestPodsSayWhyAWorkloadIsNotHealthy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	broken := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "uid-1", "resourceVersion": "1", "generation": int64(1)},
		"spec":     map[string]any{"replicas": int64(1)},
		"status":   map[string]any{"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "unavailableReplicas": int64(1)},
	}}
	manifest := identify(broken)
	var says []workv1alpha1.PodReason
	known := false
	follow := func(r *Reporter) {
		r.podReasons = func(workload *unstructured.Unstructured) ([]workv1alpha1.PodReason, bool) {
			g.Expect(workload.GetName()).To(Equal("web"))
			return says, known
		}
	}
	r, hub := newReporter(t, interceptor.Funcs{}, work())
	follow(r)
	clock, ok := r.clock.(*clocktesting.FakeClock)
	g.Expect(ok).To(BeTrue())
	reported := func() []workv1alpha1.PodReason {
		t.Helper()
		g.Expect(r.write(t.Context(), self)).To(Succeed())
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
		g.Expect(got.Status.ManifestStatuses).To(HaveLen(1))
		return got.Status.ManifestStatuses[0].PodReasons
	}
	pull := []workv1alpha1.PodReason{{Reason: "ErrImagePull", Pods: 1, Pod: "web-1"}}
	back := []workv1alpha1.PodReason{{Reason: "ImagePullBackOff", Pods: 1, Pod: "web-1"}}

	r.Report(work(), applied(), []workv1alpha1.ResourceIdentifier{manifest}, []*unstructured.Unstructured{broken}, nil)
	g.Expect(reported()).To(BeEmpty(), "the pods were not read yet")
	says, known = pull, true
	r.explainAll()
	g.Expect(reported()).To(Equal(pull))

	says = back
	r.explainAll()
	g.Expect(reported()).To(Equal(pull), "what was told a moment ago stays")
	clock.Step(podsAgain)
	r.explainAll()
	g.Expect(reported()).To(Equal(back))

	// A restarted agent does not retract what it does not know yet.
	restarted, err := New(hub, Deps{
		Namespace: self.Namespace, Interpreter: r.interpreter, Events: r.events, Clock: clock, PodReasons: r.podReasons,
	})
	g.Expect(err).NotTo(HaveOccurred())
	r, known = restarted, false
	r.Report(work(), applied(), []workv1alpha1.ResourceIdentifier{manifest}, []*unstructured.Unstructured{broken}, nil)
	g.Expect(reported()).To(Equal(back))
	r.explainAll()
	g.Expect(r.works[self].changed).To(BeFalse(), "there is nothing to write")

	known = true
	well := broken.DeepCopy()
	well.SetResourceVersion("2")
	g.Expect(unstructured.SetNestedMap(well.Object, map[string]any{
		"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
	}, "status")).To(Succeed())
	r.Observe(self, well)
	g.Expect(reported()).To(BeEmpty(), "a workload that is well has none")
	clock.Step(time.Minute)
	r.explainAll()
	g.Expect(r.works[self].changed).To(BeFalse())
}
