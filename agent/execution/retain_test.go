package execution

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
)

func TestRetainedFieldsAreCheckedOnArrival(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := &countingInterpreter{Interpreter: native.New()}
	r := &Reconciler{interpreter: asked, memory: newMemory()}
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

	// The retained fields may happen to be equal at the moment.
	same := retain(web(map[string]any{contract.RetainReplicasLabel: contract.LabelTrue}, 7))
	g.Expect(same.Object["spec"]).To(HaveKeyWithValue("replicas", int64(7)))
	g.Expect(same.GetResourceVersion()).To(Equal("42"))

	// Whether a rule retains an equal field is not asked at once: that may need a webhook.
	ours := retain(web(map[string]any{}, 2))
	g.Expect(ours.Object["spec"]).To(HaveKeyWithValue("replicas", int64(2)))
	g.Expect(ours.GetResourceVersion()).To(Equal("42"))
	g.Expect(asked.times).To(Equal(3), "one question each")

	// Nothing is retained, so no resourceVersion is sent: fewer conflicts with a rollout.
	name := plan.ObjectOf(live)
	r.memory.Begin(types.NamespacedName{Namespace: "works", Name: "web"}, 1, []plan.Object{name})
	r.memory.MarkStale(name)
	g.Expect(retain(web(map[string]any{}, 2)).GetResourceVersion()).To(BeEmpty())
	g.Expect(retain(web(map[string]any{}, 7)).GetResourceVersion()).To(BeEmpty())
	g.Expect(retain(web(map[string]any{contract.RetainReplicasLabel: contract.LabelTrue}, 7)).GetResourceVersion()).To(Equal("42"))
	g.Expect(live.Object["spec"]).To(HaveKeyWithValue("replicas", int64(7)))
}

// countingInterpreter counts its calls.
type countingInterpreter struct {
	interpreter.Interpreter

	times int
}

func (c *countingInterpreter) Retain(ctx context.Context, desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.times++
	return c.Interpreter.Retain(ctx, desired, observed)
}
