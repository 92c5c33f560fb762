package execution

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
)

func TestWhatIsRetainedMustStillBeSoWhenItArrives(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &Reconciler{interpreter: native.New(), memory: newMemory()}
	web := func(labels map[string]any, replicas int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": labels},
			"spec":     map[string]any{"replicas": replicas},
		}}
	}
	live := web(map[string]any{}, 7)
	live.SetResourceVersion("42")
	retain := func(desired *unstructured.Unstructured) *unstructured.Unstructured {
		out, err := r.retain(t.Context(), plan.Manifest{Object: plan.ObjectOf(desired), Desired: desired}, plan.Found(live))
		g.Expect(err).NotTo(HaveOccurred())
		return out
	}

	kept := retain(web(map[string]any{contract.RetainReplicasLabel: contract.LabelTrue}, 2))
	g.Expect(kept.Object["spec"]).To(HaveKeyWithValue("replicas", int64(7)))
	g.Expect(kept.GetResourceVersion()).To(Equal("42"))

	// What is taken over may be the same at the moment.
	same := retain(web(map[string]any{contract.RetainReplicasLabel: contract.LabelTrue}, 7))
	g.Expect(same.Object["spec"]).To(HaveKeyWithValue("replicas", int64(7)))
	g.Expect(same.GetResourceVersion()).To(Equal("42"))

	// Where nothing is taken over, any version will do: no conflict with a rollout.
	ours := retain(web(map[string]any{}, 2))
	g.Expect(ours.Object["spec"]).To(HaveKeyWithValue("replicas", int64(2)))
	g.Expect(ours.GetResourceVersion()).To(BeEmpty())
	g.Expect(retain(web(map[string]any{}, 7)).GetResourceVersion()).To(BeEmpty())
	g.Expect(live.Object["spec"]).To(HaveKeyWithValue("replicas", int64(7)))
}
