package interpreter

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Operation is a question about an object.
type Operation string

// Operations, by the names that they have on the wire.
const (
	InterpretReplica    Operation = "InterpretReplica"
	InterpretComponent  Operation = "InterpretComponent"
	ReviseReplica       Operation = "ReviseReplica"
	Retain              Operation = "Retain"
	InterpretStatus     Operation = "InterpretStatus"
	AggregateStatus     Operation = "AggregateStatus"
	InterpretHealth     Operation = "InterpretHealth"
	InterpretDependency Operation = "InterpretDependency"
)

// Operations returns all of them, in the order in which they occur in the flow.
func Operations() []Operation {
	return []Operation{
		InterpretReplica, InterpretComponent, InterpretDependency, ReviseReplica, Retain, InterpretStatus, InterpretHealth, AggregateStatus,
	}
}

// Interpreter answers the questions. It is safe for use by many goroutines. No method
// changes its arguments. An object that a method returns may share with the arguments
// whatever the method did not change: copy what you change of it. The context bounds the
// time that an answer may take; layers that run code of others have limits of their
// own below that.
type Interpreter interface {
	// Has says whether there is a rule for the kind and the operation. Ask before
	// calling: without a rule the methods return an error.
	Has(kind schema.GroupVersionKind, op Operation) bool
	// Replicas returns how many replicas a template asks for and what one needs; the
	// requirements are nil if it asks for nothing.
	Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error)
	// Components returns the parts of a template that has several pod templates, and what
	// they need. A kind with this rule is not asked for Replicas.
	Components(ctx context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error)
	// Dependencies returns what a template needs beside it: valid, without duplicates,
	// and sorted by apiVersion, kind, namespace and name.
	Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error)
	// ReviseReplicas returns the object with another number of replicas.
	ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error)
	// Retain returns desired with what belongs to the member taken over from live.
	Retain(ctx context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// ReflectStatus returns the part of a live object's status that the hub is told;
	// nil if there is none.
	ReflectStatus(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error)
	// AggregateStatus returns the template with the status that the members' items
	// add up to. It returns the template itself when nothing changes.
	AggregateStatus(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error)
	// Health says how a live object fares.
	Health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error)
}
