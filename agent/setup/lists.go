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
	// page is the page size of lists from the hub. An API server ends an answer after a minute, however fast it goes:
	// over a ship's link a page of small Works takes a few seconds.
	page = 100
	// slowPage is the duration of a page from which the next one is made smaller, well before it would be cut off.
	slowPage = 20 * time.Second
)

// askAgain is the minimum delay before the agent asks again a hub that did not answer; the maximum is twice that, so
// that agents do not all return at once.
const askAgain = 5 * time.Second

// Sources creates the ListerWatchers for one agent's informers of the hub. It is safe for concurrent use.
type Sources struct {
	clock    clock.Clock
	restored func(*presence.RestoredError)

	mu sync.Mutex
	// asking is closed when the result of resuming a watch is known; nil if no watch is being resumed.
	asking chan struct{}
	// forgot is when the hub last answered for any watch that its resourceVersion is too old.
	forgot time.Time
	// askAt is when to ask again a hub that did not answer, or when it was last asked.
	askAt time.Time
}

// NewSources returns Sources that report a hub whose Works went back in time.
func NewSources(c clock.Clock, restored func(*presence.RestoredError)) *Sources {
	return &Sources{clock: c, restored: restored}
}

// Of returns the ListerWatcher for one informer of objects like example.
//
// Works are read in pages. By default all of them would be streamed as a watch, which most API servers do not
// compress, and which starts over if it does not finish within five minutes. Of other kinds there are few objects,
// and a stream is one request where a list and a watch are two.
func (s *Sources) Of(source toolscache.ListerWatcher, example runtime.Object) toolscache.ListerWatcher {
	_, isWork := example.(*workv1alpha1.Work)
	of := &resumed{ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(source), sources: s, isCostly: isWork}
	if isWork {
		return paged{newAnswering(&specs{ListerWatcherWithContext: of}, s)}
	}
	return newAnswering(of, s)
}

// informers creates informers of the hub's objects.
func (s *Sources) informers(source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(s.Of(source, example), example, resync, indexers)
}

// paged makes informers list rather than stream.
type paged struct{ *answering }

// IsWatchListSemanticsUnSupported is called by reflectors.
func (paged) IsWatchListSemanticsUnSupported() bool { return true }

// answering waits until the hub answers, and lists in pages, which it shrinks if they take long. It is used by one
// informer, so not concurrently.
type answering struct {
	toolscache.ListerWatcherWithContext

	sources *Sources
	// size is the size of the next page.
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

// ListWithContext implements toolscache.ListerWatcherWithContext. It returns all pages as one list: when a later page
// has expired, an informer would ask for everything at once, and take the first page of the answer for everything. No
// resourceVersion is passed on, since a list at a given version is not paged; without one the list is the latest.
func (a *answering) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	pages := pager.New(a.next)
	pages.FullListIfExpired = false
	for {
		all, several, err := pages.List(ctx, options) // the informer copies what it keeps
		if !several || !apierrors.IsResourceExpired(err) {
			return all, err //nolint:wrapcheck // It stands for what lists.
		}
		// The hub keeps a version for at least five minutes. The rest of the list is gone, so start over.
		ctrl.LoggerFrom(ctx).Info("Listing again, because the hub no longer has the version that was listed first", "reason", err.Error())
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

// resize adapts the page size to the duration of a page, and to whether it arrived completely: a page that is cut off
// was transferred in vain.
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

// answered asks until the hub gives any answer. An informer would back off for up to a minute once the hub was away
// for a while; meanwhile the agent, which renews its lease within seconds, would count as ready and see no changes.
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

// again returns a channel that fires when the hub is to be asked again. It is the same time for all sources, so that
// they share one attempt to connect.
func (s *Sources) again() <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if !s.askAt.After(now) {
		s.askAt = now.Add(wait.Jitter(askAgain, 1))
	}
	return s.clock.After(s.askAt.Sub(now))
}
