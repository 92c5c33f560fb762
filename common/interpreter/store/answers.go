package store

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
)

var _ interpreter.Changing = &Store{}

func (s *Store) kinds() interpreter.Interpreter { return s.table.Load().kinds }

// Has implements interpreter.Interpreter.
func (s *Store) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	return s.kinds().Has(kind, op)
}

// Replicas implements interpreter.Interpreter.
func (s *Store) Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error) {
	return s.kinds().Replicas(ctx, template)
}

// Components implements interpreter.Interpreter.
func (s *Store) Components(ctx context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error) {
	return s.kinds().Components(ctx, template)
}

// Dependencies implements interpreter.Interpreter.
func (s *Store) Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	return s.kinds().Dependencies(ctx, template)
}

// ReviseReplicas implements interpreter.Interpreter.
func (s *Store) ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	return s.kinds().ReviseReplicas(ctx, obj, replicas)
}

// Retain implements interpreter.Interpreter.
func (s *Store) Retain(ctx context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return s.kinds().Retain(ctx, desired, live)
}

// ReflectStatus implements interpreter.Interpreter.
func (s *Store) ReflectStatus(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error) {
	return s.kinds().ReflectStatus(ctx, live)
}

// AggregateStatus implements interpreter.Interpreter.
func (s *Store) AggregateStatus(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error) {
	return s.kinds().AggregateStatus(ctx, template, items)
}

// Health implements interpreter.Interpreter.
func (s *Store) Health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	return s.kinds().Health(ctx, live)
}
