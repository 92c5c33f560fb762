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

// Operations, by their names on the wire.
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

// Operations returns all operations, in the order in which they occur in the flow.
func Operations() []Operation {
	return []Operation{
		InterpretReplica, InterpretComponent, InterpretDependency, ReviseReplica, Retain, InterpretStatus, InterpretHealth, AggregateStatus,
	}
}

// Interpreter answers the questions. It is safe for concurrent use. No method changes its arguments. A returned
// object may share unchanged parts with the arguments: copy what you modify. The context bounds the time for an
// answer; layers that run other people's code have lower limits of their own.
type Interpreter interface {
	// Has returns whether there is a rule for the kind and the operation. Call it first: without a rule the methods
	// return an error.
	Has(kind schema.GroupVersionKind, op Operation) bool
	// Replicas returns how many replicas a template requests and what each requires; the requirements are nil if it
	// requests nothing.
	Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error)
	// Components returns the components of a template with several pod templates, and their requirements. A kind with
	// this rule is not asked for Replicas.
	Components(ctx context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error)
	// Dependencies returns the objects that a template needs: valid, deduplicated, and sorted by apiVersion, kind,
	// namespace and name.
	Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error)
	// ReviseReplicas returns the object with another number of replicas.
	ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error)
	// Retain returns desired with the fields that belong to the member taken from live.
	Retain(ctx context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// ReflectStatus returns the part of a live object's status that is reported to the hub; nil if there is none.
	ReflectStatus(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error)
	// AggregateStatus returns the template with the status aggregated from the members' items. It returns the
	// template itself if nothing changes.
	AggregateStatus(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error)
	// Health returns the health of a live object.
	Health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error)
}
