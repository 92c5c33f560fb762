// Package interpreter answers what an object means: how many replicas it asks for,
// what of it belongs to the member, what its status says, whether it is healthy.
//
// An Interpreter is a chain of layers; the first layer that has a rule for the kind
// and the operation answers, and its error is final. The native layer, Go code for
// the kinds of Kubernetes, is the last.
package interpreter

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Operation is a question about an object.
type Operation string

// Operations, by the names that they have on the wire.
const (
	InterpretReplica Operation = "InterpretReplica"
	ReviseReplica    Operation = "ReviseReplica"
	Retain           Operation = "Retain"
	InterpretStatus  Operation = "InterpretStatus"
	AggregateStatus  Operation = "AggregateStatus"
	InterpretHealth  Operation = "InterpretHealth"
)

// Interpreter answers the questions. It is safe for use by many goroutines. No method
// changes its arguments; whoever gets an object back may change it.
type Interpreter interface {
	// Has says whether there is a rule for the kind and the operation. Ask before
	// calling: without a rule the methods return an error.
	Has(kind schema.GroupVersionKind, op Operation) bool
	// Replicas returns how many replicas a template asks for and what one needs; the
	// requirements are nil if it asks for nothing.
	Replicas(template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error)
	// ReviseReplicas returns the object with another number of replicas.
	ReviseReplicas(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error)
	// Retain returns desired with what belongs to the member taken over from live.
	Retain(desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// ReflectStatus returns the part of a live object's status that the hub is told;
	// nil if there is none.
	ReflectStatus(live *unstructured.Unstructured) (*runtime.RawExtension, error)
	// AggregateStatus returns the template with the status that the members' items
	// add up to. It returns the template itself when nothing changes.
	AggregateStatus(template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error)
	// Health says how a live object fares.
	Health(live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error)
}
