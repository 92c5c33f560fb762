package interpreter

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Question is an operation and its arguments, for callers that treat all operations alike: tools and tests.
type Question struct {
	Operation Operation
	// Object is the template, the desired object (Retain), or the live object (InterpretStatus and InterpretHealth).
	Object *unstructured.Unstructured
	// Live is the member's object (Retain).
	Live *unstructured.Unstructured
	// Replicas is the number of replicas to set (ReviseReplica).
	Replicas int32
	// Items are the reports of the members (AggregateStatus).
	Items []workv1alpha2.AggregatedStatusItem
}

// ReplicaAnswer is the answer to InterpretReplica.
type ReplicaAnswer struct {
	Replicas int32 `json:"replicas"`
	// Requirements are those of one replica; nil if it requests nothing.
	Requirements *workv1alpha2.ReplicaRequirements `json:"requirements,omitempty"`
}

// Ask returns the result of the operation's method.
func (q Question) Ask(ctx context.Context, i Interpreter) (any, error) {
	switch q.Operation {
	case InterpretReplica:
		replicas, requirements, err := i.Replicas(ctx, q.Object)
		return ReplicaAnswer{replicas, requirements}, err
	case InterpretComponent:
		return i.Components(ctx, q.Object)
	case InterpretDependency:
		return i.Dependencies(ctx, q.Object)
	case ReviseReplica:
		return i.ReviseReplicas(ctx, q.Object, q.Replicas)
	case Retain:
		return i.Retain(ctx, q.Object, q.Live)
	case InterpretStatus:
		return i.ReflectStatus(ctx, q.Object)
	case InterpretHealth:
		return i.Health(ctx, q.Object)
	case AggregateStatus:
		return i.AggregateStatus(ctx, q.Object, q.Items)
	default:
		return nil, fmt.Errorf("there is no operation %q", q.Operation)
	}
}
