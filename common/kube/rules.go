package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/common/interpreter"
)

// RulesChanged is a source that has enqueue called whenever kinds mean something else
// now, with what says which: a stage that asks an interpreter looks again at what it
// asked about. enqueue may wait, for a cache to be filled say.
func RulesChanged[R comparable](
	kinds interpreter.Interpreter,
	enqueue func(ctx context.Context, affects func(schema.GroupVersionKind) bool, q workqueue.TypedRateLimitingInterface[R]),
) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, q workqueue.TypedRateLimitingInterface[R]) error {
		interpreter.Subscribe(kinds, func(affects func(schema.GroupVersionKind) bool) { go enqueue(ctx, affects, q) })
		return nil
	})
}
