package setup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/presence"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// page is how many objects the hub is asked for at a time. An API server ends an answer after a
// minute, however well it moves: on a ship's line a page of Works takes a few seconds.
const page = 100

// askAgain is after how long a hub that does not answer is asked again, and up to twice that: agents
// do not all come at once.
const askAgain = 5 * time.Second

// pagedInformers makes informers of what the hub has that read it in pages. By default they would
// have all of it streamed as a watch, which no API server compresses, and which begins anew when
// it is not through within five minutes. Restored is told of a hub whose Works went back in time.
func pagedInformers(c clock.Clock, restored func(*presence.RestoredError)) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		of := toolscache.ToListerWatcherWithContext(source)
		if _, isWork := example.(*workv1alpha1.Work); isWork {
			of = &resumed{ListerWatcherWithContext: of, restored: restored}
		}
		return toolscache.NewSharedIndexInformer(paged{of, c}, example, resync, indexers)
	}
}

// paged lists in pages.
type paged struct {
	toolscache.ListerWatcherWithContext

	clock clock.Clock
}

// List implements toolscache.ListerWatcher.
func (p paged) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options) //nolint:forbidigo // The interface has no context here.
}

// Watch implements toolscache.ListerWatcher.
func (p paged) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options) //nolint:forbidigo // The interface has no context here.
}

// ListWithContext implements toolscache.ListerWatcherWithContext. Whoever names a version gets all
// at once, so none is named: then it is the latest.
func (p paged) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.Limit, options.ResourceVersion, options.ResourceVersionMatch = page, "", ""
	return answered(ctx, p.clock, func() (runtime.Object, error) { return p.ListerWatcherWithContext.ListWithContext(ctx, options) })
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (p paged) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return answered(ctx, p.clock, func() (watch.Interface, error) { return p.ListerWatcherWithContext.WatchWithContext(ctx, options) })
}

// answered asks until the hub answers, whatever that is. An informer would wait for up to a minute
// before it asks again, once the hub was away for a while; the agent, which renews its lease in a few
// seconds, would count as ready meanwhile, and hear of nothing.
func answered[T any](ctx context.Context, c clock.Clock, ask func() (T, error)) (T, error) {
	for {
		answer, err := ask()
		if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-c.After(wait.Jitter(askAgain, 1)):
		}
	}
}

// IsWatchListSemanticsUnSupported tells informers not to have lists streamed.
func (paged) IsWatchListSemanticsUnSupported() bool { return true }
