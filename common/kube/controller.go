package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Delays between the tries of a reconcile that fails.
const (
	// firstRetry is the delay after the first failure; it doubles from there.
	firstRetry = 20 * time.Millisecond
	// lastRetry bounds the delay: nobody waits longer for something that was mended.
	lastRetry = time.Minute
	// conflictRetry is the delay after a conflict, which is not a failure: our cache
	// was behind, and will have caught up by then. If it has not, because the API server has
	// too much to do, the delay doubles up to lastConflictRetry: to ask it at 100 Hz does not help.
	conflictRetry     = 10 * time.Millisecond
	lastConflictRetry = time.Second
)

// NewController begins the definition of a controller, with what all of ours have in
// common: its name in logs and metrics, the number of its workers and its retry
// delays. Every controller of the hub and the agent is made here.
func NewController(mgr manager.Manager, name string, workers int) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(ControllerOptions(workers))
}

// ControllerOptions are the options that NewController sets, for a controller whose
// sources come and go while it runs.
func ControllerOptions(workers int) controller.Options {
	return typedOptions[reconcile.Request](workers)
}

// NewTypedController makes a controller whose requests are of a type of its own and
// gives it to the manager. It has all that NewController sets, and its conflicts are
// quiet. The function values returns what a log line says of a request, as keys and
// values.
func NewTypedController[R comparable](
	mgr manager.Manager, name string, workers int, r reconcile.TypedReconciler[R], values func(R) []any,
) (controller.TypedController[R], error) {
	options := typedOptions[R](workers)
	options.Reconciler = QuietConflicts(r)
	log := mgr.GetLogger().WithValues("controller", name)
	options.LogConstructor = func(req *R) logr.Logger {
		if req == nil {
			return log
		}
		return log.WithValues(values(*req)...)
	}
	c, err := controller.NewTyped(name, mgr, options)
	if err != nil {
		return nil, fmt.Errorf("making controller %q: %w", name, err)
	}
	return c, nil
}

func typedOptions[R comparable](workers int) controller.TypedOptions[R] {
	return controller.TypedOptions[R]{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[R](firstRetry, lastRetry),
	}
}

// CacheBehind is the error of a stage that has read an object live and found it otherwise than its cache shows it. It is a conflict, upon
// which QuietConflicts has it looked at again.
func CacheBehind(resource schema.GroupResource, name string) error {
	return apierrors.NewConflict(resource, name, errors.New("the cache is behind"))
}

// QuietConflicts wraps a reconciler so that what mends itself is no error in the log. A
// conflict (our cache was behind, another writer was first, what an Edit was about is gone)
// is a quick second try; those after it come a little later each time. A kind that the API does not serve, yet
// or any more, and a namespace that is about to go are looked at again later and later.
func QuietConflicts[R comparable](r reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[R](firstRetry, lastRetry)
	conflicts := workqueue.NewTypedItemExponentialFailureRateLimiter[R](conflictRetry, lastConflictRetry)
	return reconcile.TypedFunc[R](func(ctx context.Context, req R) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, req)
		switch {
		case apierrors.IsConflict(err), errors.As(err, new(goneError)):
			ctrl.LoggerFrom(ctx).V(1).Info("Trying again after a conflict", "reason", err.Error())
			return reconcile.Result{RequeueAfter: conflicts.When(req)}, nil
		case IsUnserved(err), namespaceEnds(err):
			ctrl.LoggerFrom(ctx).V(1).Info("Trying again later, a kind or a namespace is not there", "reason", err.Error())
			return reconcile.Result{RequeueAfter: backoff.When(req)}, nil
		}
		backoff.Forget(req)
		conflicts.Forget(req)
		return result, err
	})
}
