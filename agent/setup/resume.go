package setup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/presence"
	"fairlead.dev/common/contract"
)

// resumed asks, before a watch goes on where it was, how far the hub is. A watch from a version that is yet to come is no error: it
// says nothing until the hub is there once more, and leaves out what has come until then. So would an agent be deaf, and well to look at,
// to a hub that was restored from a snapshot of its disk. The lease tells as much only if it was written after the
// snapshot, and while the line is the sign of life it is written every ten minutes. A watch is taken up again some times an hour, and after
// the hub was away: an empty list is asked for each time.
type resumed struct {
	toolscache.ListerWatcherWithContext

	restored func(*presence.RestoredError)
	// listed is the version of the last list, from which its watch begins. An informer does one thing at a time.
	listed string
}

// ListWithContext implements toolscache.ListerWatcherWithContext.
func (r *resumed) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := r.ListerWatcherWithContext.ListWithContext(ctx, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // It stands for what lists.
	}
	if r.listed, err = versionOf(list); err != nil {
		return nil, err
	}
	return list, nil
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (r *resumed) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	left, listed := options.ResourceVersion, r.listed
	r.listed = "" // what begins there once goes on from there another time
	if left != "" && left != listed {
		now, err := r.version(ctx)
		if err != nil {
			return nil, err
		}
		if contract.Older(now, left) {
			restored := &presence.RestoredError{Whose: "hub", Left: left, Found: now}
			r.restored(restored)
			return nil, apierrors.NewResourceExpired(restored.Error())
		}
	}
	return r.ListerWatcherWithContext.WatchWithContext(ctx, options) //nolint:wrapcheck // It stands for what watches.
}

// nothing selects no object: a list of them says how far the hub is, and carries no manifests over a metered line.
const nothing = "metadata.name=nothing.fairlead.dev"

// version is how far the hub is. An answer for which no version is named is the latest.
func (r *resumed) version(ctx context.Context) (string, error) {
	list, err := r.ListerWatcherWithContext.ListWithContext(ctx, metav1.ListOptions{FieldSelector: nothing})
	if err != nil {
		return "", err //nolint:wrapcheck // It stands for what lists.
	}
	return versionOf(list)
}

func versionOf(list runtime.Object) (string, error) {
	of, err := meta.ListAccessor(list)
	if err != nil {
		return "", fmt.Errorf("reading the version of a list: %w", err)
	}
	return of.GetResourceVersion(), nil
}

// restores ends the agent once the hub turns out to be restored.
type restores chan *presence.RestoredError

func newRestores() restores { return make(restores, 1) }

// tell notes it. That it was noted before is as good.
func (r restores) tell(e *presence.RestoredError) {
	select {
	case r <- e:
	default:
	}
}

// Start implements manager.Runnable.
func (r restores) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case e := <-r:
		return e
	}
}

var _ manager.Runnable = restores(nil)
