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

	"fairlead.dev/common/kube/fairqueue"
)

// Delays between the tries of a reconcile that fails.
const (
	// firstRetry is the delay after the first failure; it doubles from there.
	firstRetry = 20 * time.Millisecond
	// lastRetry bounds the delay, so that a cause which was removed is noticed soon.
	lastRetry = time.Minute
	// conflictRetry is the delay after a conflict, which is not a failure: the cache was behind, and will soon have caught up. If it has
	// not, because the API server is overloaded, the delay doubles up to lastConflictRetry.
	conflictRetry     = 10 * time.Millisecond
	lastConflictRetry = time.Second
)

// NewController begins the definition of a controller with the settings that all controllers share: the name in logs
// and metrics, the number of workers and the retry delays. Every controller of hub and agent is made here.
func NewController(mgr manager.Manager, name string, workers int) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(ControllerOptions(workers))
}

// ControllerOptions returns the options that NewController sets, for a controller whose sources are added and removed while it runs.
func ControllerOptions(workers int) controller.Options {
	return typedOptions[reconcile.Request](workers)
}

// NewTypedController makes a controller with its own type of requests and adds it to the manager, with the settings of NewController.
// Conflicts are handled by QuietConflicts. The function values returns the keys and values that describe a request in the log.
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

// CacheBehind returns the error for a stage that read an object live and found its cache outdated. It is a conflict,
// so QuietConflicts retries.
func CacheBehind(resource schema.GroupResource, name string) error {
	return apierrors.NewConflict(resource, name, errors.New("the cache is behind"))
}

// QuietConflicts wraps a reconciler so that errors which resolve themselves are not logged as errors. After a conflict (the cache was
// behind, another writer was first, or the object of an Edit is gone) it retries quickly, and each further time a little later. For a kind
// that the API does not serve, and for a namespace that is being deleted, the delay grows up to lastRetry. Delays stay
// as they are while a request waits in a fairqueue.Queue.
func QuietConflicts[R comparable](r reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[R](firstRetry, lastRetry)
	conflicts := workqueue.NewTypedItemExponentialFailureRateLimiter[R](conflictRetry, lastConflictRetry)
	return reconcile.TypedFunc[R](func(ctx context.Context, req R) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, req)
		switch {
		case errors.Is(err, fairqueue.ErrWaits):
			ctrl.LoggerFrom(ctx).V(1).Info("Waiting until fewer large objects are being worked on")
			return reconcile.Result{}, nil
		case apierrors.IsConflict(err), errors.As(err, new(goneError)):
			ctrl.LoggerFrom(ctx).V(1).Info("Trying again after a conflict", "reason", err.Error())
			return reconcile.Result{RequeueAfter: conflicts.When(req)}, nil
		case IsUnserved(err), IsNamespaceEnding(err):
			ctrl.LoggerFrom(ctx).V(1).Info("Trying again later, a kind or a namespace is not there", "reason", err.Error())
			return reconcile.Result{RequeueAfter: backoff.When(req)}, nil
		}
		backoff.Forget(req)
		conflicts.Forget(req)
		return result, err
	})
}
