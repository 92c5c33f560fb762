package setup

import (
	"context"
	"sync"
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

// Sources are by what one agent lists and watches what the hub has. They may be used concurrently.
type Sources struct {
	clock    clock.Clock
	restored func(*presence.RestoredError)

	mu sync.Mutex
	// asking is closed when what comes of a watch is known that is to go on; nil if none is about to.
	asking chan struct{}
	// forgot is when the hub last said of any watch that it does not remember where that one was.
	forgot time.Time
	// askAt is when a hub that did not answer is asked again, or last was.
	askAt time.Time
}

// NewSources returns sources that tell of a hub whose Works went back in time.
func NewSources(c clock.Clock, restored func(*presence.RestoredError)) *Sources {
	return &Sources{clock: c, restored: restored}
}

// Of returns how objects like an example are listed and watched by one informer.
//
// Works are read in pages. By default all of them would be streamed as a watch, which most API servers do not compress, and which begins anew
// when it is not through within five minutes. Of the other kinds there are few, and a stream is one request where a list and a watch are two.
func (s *Sources) Of(source toolscache.ListerWatcher, example runtime.Object) toolscache.ListerWatcher {
	_, isWork := example.(*workv1alpha1.Work)
	of := &resumed{ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(source), sources: s, isCostly: isWork}
	if isWork {
		return paged{newAnswering(&specs{ListerWatcherWithContext: of}, s)}
	}
	return newAnswering(of, s)
}

// informers makes informers of what the hub has.
func (s *Sources) informers(source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(s.Of(source, example), example, resync, indexers)
}

// paged tells informers not to have lists streamed.
type paged struct{ *answering }

// IsWatchListSemanticsUnSupported is what informers ask.
func (paged) IsWatchListSemanticsUnSupported() bool { return true }

// answering waits until the hub answers, and lists in pages, which it makes smaller where they take long. An informer does one thing at a
// time.
type answering struct {
	toolscache.ListerWatcherWithContext

	sources *Sources
	// size is how many objects the next page has.
	size int64
}

func newAnswering(of toolscache.ListerWatcherWithContext, s *Sources) *answering {
	return &answering{ListerWatcherWithContext: of, sources: s, size: page}
}

// List implements toolscache.ListerWatcher.
func (a *answering) List(options metav1.ListOptions) (runtime.Object, error) {
	return a.ListWithContext(context.Background(), options) //nolint:forbidigo // The interface has no context here.
}

// Watch implements toolscache.ListerWatcher.
func (a *answering) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return a.WatchWithContext(context.Background(), options) //nolint:forbidigo // The interface has no context here.
}

// ListWithContext implements toolscache.ListerWatcherWithContext. It returns all pages as one list: when a later page has
// expired, an informer asks for everything at once, and would take the first page of the answer for everything. Whoever
// names a version gets all at once, so none is named: then it is the latest.
func (a *answering) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	pages := pager.New(a.next)
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
func (a *answering) next(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return answered(ctx, a.sources, func() (runtime.Object, error) {
		began := a.sources.clock.Now()
		options.Limit = a.size
		answer, err := a.ListerWatcherWithContext.ListWithContext(ctx, options)
		a.resize(a.sources.clock.Since(began), err == nil)
		return answer, err //nolint:wrapcheck // It stands for what lists.
	})
}

// resize fits the next page to how long one took, and whether it came whole: what is cut off has crossed the line for nothing.
func (a *answering) resize(took time.Duration, whole bool) {
	switch {
	case took >= slowPage && !whole:
		a.size = max(a.size/4, 1)
	case took >= slowPage:
		a.size = max(a.size/2, 1)
	case took < slowPage/4 && whole:
		a.size = min(a.size*2, page)
	}
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (a *answering) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return answered(ctx, a.sources, func() (watch.Interface, error) { return a.ListerWatcherWithContext.WatchWithContext(ctx, options) })
}

// answered asks until the hub answers, whatever that is. An informer would wait for up to a minute
// before it asks again, once the hub was away for a while; the agent, which renews its lease in a few
// seconds, would count as ready meanwhile, and hear of nothing.
func answered[T any](ctx context.Context, s *Sources, ask func() (T, error)) (T, error) {
	for {
		answer, err := ask()
		if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-s.again():
		}
	}
}

// again says when a hub that did not answer is asked again. All sources ask at the same time then, so that one connection is tried for all of
// them.
func (s *Sources) again() <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if !s.askAt.After(now) {
		s.askAt = now.Add(wait.Jitter(askAgain, 1))
	}
	return s.clock.After(s.askAt.Sub(now))
}
