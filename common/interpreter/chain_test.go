package interpreter_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
)

// layer has one rule, about the health of one kind, and no answer for other operations and kinds.
type layer struct {
	interpreter.Interpreter

	kind   string
	health workv1alpha1.ResourceHealth
	err    error
}

func (l layer) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	return kind.Kind == l.kind && op == interpreter.InterpretHealth
}

func (l layer) Health(context.Context, *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	return l.health, l.err
}

func TestTheFirstLayerThatHasTheRuleAnswers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]struct {
		layers []interpreter.Interpreter
		want   workv1alpha1.ResourceHealth
		err    string
	}{
		"the first of two": {
			layers: []interpreter.Interpreter{layer{kind: "Mill", health: workv1alpha1.Healthy}, layer{kind: "Mill", health: workv1alpha1.Unhealthy}},
			want:   workv1alpha1.Healthy,
		},
		"the second, if the first knows another kind": {
			layers: []interpreter.Interpreter{layer{kind: "Barn", health: workv1alpha1.Healthy}, layer{kind: "Mill", health: workv1alpha1.Unhealthy}},
			want:   workv1alpha1.Unhealthy,
		},
		"an error is final": {
			layers: []interpreter.Interpreter{layer{kind: "Mill", health: workv1alpha1.Unknown, err: broken}, layer{kind: "Mill", health: workv1alpha1.Healthy}},
			want:   workv1alpha1.Unknown, err: "broken",
		},
		"no layer": {want: workv1alpha1.Unknown, err: "no rule InterpretHealth for Mill of farm.example.com/v1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			mill := &unstructured.Unstructured{}
			mill.SetAPIVersion("farm.example.com/v1")
			mill.SetKind("Mill")
			got, err := interpreter.Chain(tc.layers...).Health(t.Context(), mill)
			g.Expect(got).To(Equal(tc.want))
			if tc.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(tc.err))
			}
		})
	}
}

func TestEveryOperationReachesTheLayerBelow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kinds := interpreter.Chain(layer{kind: "Mill"}, native.New())
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec":     map[string]any{"replicas": int64(2), "template": map[string]any{}},
	}}
	ctx := t.Context()
	replicas, _, err := kinds.Replicas(ctx, obj)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(replicas).To(BeEquivalentTo(2))
	revised, err := kinds.ReviseReplicas(ctx, obj, 5)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revised.Object["spec"]).To(HaveKeyWithValue("replicas", int64(5)))
	_, err = kinds.Retain(ctx, obj, revised)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = kinds.ReflectStatus(ctx, obj)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = kinds.AggregateStatus(ctx, obj, nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = kinds.Dependencies(ctx, obj)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = kinds.Components(ctx, obj)
	g.Expect(err).To(MatchError("no rule InterpretComponent for Deployment of apps/v1"))
	g.Expect(kinds.Has(obj.GroupVersionKind(), interpreter.ReviseReplica)).To(BeTrue())
	g.Expect(kinds.Has(obj.GroupVersionKind(), interpreter.InterpretComponent)).To(BeFalse())
}
