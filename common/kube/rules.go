package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/common/interpreter"
)

// RulesChanged returns a source that calls enqueue whenever interpreter rules changed, with a predicate for the
// affected kinds, so that a stage can reconcile what it asked the interpreter about. enqueue may block, for instance
// until a cache has synced.
func RulesChanged[R comparable](
	kinds interpreter.Interpreter,
	enqueue func(ctx context.Context, affects func(schema.GroupVersionKind) bool, q workqueue.TypedRateLimitingInterface[R]),
) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, q workqueue.TypedRateLimitingInterface[R]) error {
		interpreter.Subscribe(kinds, func(affects func(schema.GroupVersionKind) bool) { go enqueue(ctx, affects, q) })
		return nil
	})
}
