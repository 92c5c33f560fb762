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
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/presence"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

const (
	// page is how many objects the hub is asked for at a time. An API server ends an answer after a
	// minute, however well it moves: on a ship's line a page of small Works takes a few seconds.
	page = 100
	// slowPage is how long a page may take before the next one is made smaller: well before it would be cut off.
	slowPage = 20 * time.Second
)

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
			of = &specs{ListerWatcherWithContext: &resumed{ListerWatcherWithContext: of, restored: restored}}
		}
		return toolscache.NewSharedIndexInformer(newPaged(of, c), example, resync, indexers)
	}
}

// paged lists in pages, which it makes smaller where they take long. An informer does one thing at a time.
type paged struct {
	toolscache.ListerWatcherWithContext

	clock clock.Clock
	// size is how many objects the next page has.
	size int64
}

func newPaged(of toolscache.ListerWatcherWithContext, c clock.Clock) *paged {
	return &paged{ListerWatcherWithContext: of, clock: c, size: page}
}

// List implements toolscache.ListerWatcher.
func (p *paged) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options) //nolint:forbidigo // The interface has no context here.
}

// Watch implements toolscache.ListerWatcher.
func (p *paged) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options) //nolint:forbidigo // The interface has no context here.
}

// ListWithContext implements toolscache.ListerWatcherWithContext. It returns all pages as one list: when a later page has
// expired, an informer asks for everything at once, and would take the first page of the answer for everything. Whoever
// names a version gets all at once, so none is named: then it is the latest.
func (p *paged) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	pages := pager.New(p.next)
	pages.FullListIfExpired = false
	for {
		all, several, err := pages.List(ctx, options) // the informer copies what it keeps
		if !several || !apierrors.IsResourceExpired(err) {
			return all, err //nolint:wrapcheck // It stands for what lists.
		}
		// The hub keeps a version for five minutes at least. What is left of it is not there any more, so it begins anew.
		ctrl.LoggerFrom(ctx).Info("Listing anew, since the hub no longer has what was listed at first", "reason", err.Error())
	}
}

// next returns one page.
func (p *paged) next(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return answered(ctx, p.clock, func() (runtime.Object, error) {
		began := p.clock.Now()
		options.Limit = p.size
		answer, err := p.ListerWatcherWithContext.ListWithContext(ctx, options)
		p.resize(p.clock.Since(began), err == nil)
		return answer, err //nolint:wrapcheck // It stands for what lists.
	})
}

// resize fits the next page to how long one took, and whether it came whole: what is cut off has crossed the line for nothing.
func (p *paged) resize(took time.Duration, whole bool) {
	switch {
	case took >= slowPage && !whole:
		p.size = max(p.size/4, 1)
	case took >= slowPage:
		p.size = max(p.size/2, 1)
	case took < slowPage/4 && whole:
		p.size = min(p.size*2, page)
	}
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (p *paged) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
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
func (*paged) IsWatchListSemanticsUnSupported() bool { return true }
