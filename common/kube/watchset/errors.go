package watchset

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

// WatchErrors handles the errors of a cache's watches. A kind that is no longer served is no error: its definition
// was deleted. The zero value is ready to use.
type WatchErrors struct {
	removed atomic.Pointer[func(context.Context)]
}

// OnRemoved sets a function that is called when a watch fails because its kind is not served any more. It must not block.
func (w *WatchErrors) OnRemoved(do func(context.Context)) { w.removed.Store(&do) }

// Handle is a toolscache.WatchErrorHandlerWithContext.
func (w *WatchErrors) Handle(ctx context.Context, r *toolscache.Reflector, err error) {
	if !apierrors.IsNotFound(err) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		return
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Watching a kind that is not served any more", "reason", err.Error())
	if do := w.removed.Load(); do != nil {
		(*do)(ctx)
	}
}

// isServed asks the API whether it serves a kind.
func isServed(ctx context.Context, live client.Reader, kind schema.GroupVersionKind) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	err := live.List(ctx, list, client.Limit(1))
	if apierrors.IsNotFound(err) || kube.IsUnserved(err) {
		return false, nil
	}
	return err == nil, err
}
