package interpreter

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Chain returns an interpreter made of layers: the first that has a rule for the kind and the operation answers, and
// its error is final.
func Chain(layers ...Interpreter) Interpreter { return chain(layers) }

type chain []Interpreter

// layer returns the layer that answers; nil if there is none.
func (c chain) layer(kind schema.GroupVersionKind, op Operation) Interpreter {
	for _, l := range c {
		if l.Has(kind, op) {
			return l
		}
	}
	return nil
}

// Has returns whether any layer has a rule.
func (c chain) Has(kind schema.GroupVersionKind, op Operation) bool { return c.layer(kind, op) != nil }

// ask asks the layer that has the rule.
func ask[T any](c chain, obj *unstructured.Unstructured, op Operation, question func(Interpreter) (T, error)) (T, error) {
	l := c.layer(obj.GroupVersionKind(), op)
	if l == nil {
		var none T
		return none, NoRule(obj, op)
	}
	return question(l)
}

// NoRule returns the error for a question that no layer answers.
func NoRule(obj *unstructured.Unstructured, op Operation) error {
	return fmt.Errorf("no rule %s for %s of %s", op, obj.GetKind(), obj.GetAPIVersion())
}

// Replicas implements Interpreter.
func (c chain) Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error) {
	l := c.layer(template.GroupVersionKind(), InterpretReplica)
	if l == nil {
		return 0, nil, NoRule(template, InterpretReplica)
	}
	return l.Replicas(ctx, template)
}

// Components implements Interpreter.
func (c chain) Components(ctx context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error) {
	return ask(c, template, InterpretComponent, func(l Interpreter) ([]workv1alpha2.Component, error) {
		return l.Components(ctx, template)
	})
}

// Dependencies implements Interpreter.
func (c chain) Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	return ask(c, template, InterpretDependency, func(l Interpreter) ([]configv1alpha1.DependentObjectReference, error) {
		return l.Dependencies(ctx, template)
	})
}

// ReviseReplicas implements Interpreter.
func (c chain) ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	return ask(c, obj, ReviseReplica, func(l Interpreter) (*unstructured.Unstructured, error) {
		return l.ReviseReplicas(ctx, obj, replicas)
	})
}

// Retain implements Interpreter.
func (c chain) Retain(ctx context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return ask(c, desired, Retain, func(l Interpreter) (*unstructured.Unstructured, error) {
		return l.Retain(ctx, desired, live)
	})
}

// ReflectStatus implements Interpreter.
func (c chain) ReflectStatus(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error) {
	return ask(c, live, InterpretStatus, func(l Interpreter) (*runtime.RawExtension, error) {
		return l.ReflectStatus(ctx, live)
	})
}

// AggregateStatus implements Interpreter.
func (c chain) AggregateStatus(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error) {
	return ask(c, template, AggregateStatus, func(l Interpreter) (*unstructured.Unstructured, error) {
		return l.AggregateStatus(ctx, template, items)
	})
}

// Health implements Interpreter.
func (c chain) Health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	l := c.layer(live.GroupVersionKind(), InterpretHealth)
	if l == nil {
		return workv1alpha1.Unknown, NoRule(live, InterpretHealth)
	}
	return l.Health(ctx, live)
}
