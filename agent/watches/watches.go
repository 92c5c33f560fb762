package watches

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/contract"
)

const (
	// patience is how long a watch must have been refused before it counts as lost. An informer retries about four
	// times in that time.
	patience = 5 * time.Second
	// failingPatience is the same for a watch that fails for other reasons, as it may while the member starts or is
	// busy. An informer retries about once a minute by then.
	failingPatience = time.Minute
	// takeOver bounds the wait for an informer to process what it received, and takeOverPoll is the interval of the
	// checks.
	takeOver     = 10 * time.Second
	takeOverPoll = 5 * time.Millisecond
)

// Watches knows which watches are lost. It is safe for concurrent use.
type Watches struct {
	clock clock.Clock

	mu sync.Mutex
	// failing are the watches that the member last refused or failed to start.
	failing map[watched]*failure
	// unready says that the member reports that it is not ready.
	unready     bool
	subscribers []func(schema.GroupVersionKind)
}

// watched identifies an informer: a kind, and a namespace or, if that is empty, all of them.
type watched struct {
	kind      schema.GroupVersionKind
	namespace string
}

// failure describes a watch that does not work.
type failure struct {
	// since is when it began, and refused since when the member has refused the watch; zero if its last answer was
	// another failure.
	since, refused time.Time
	// last is when the latest failure was answered, and version the resourceVersion that the informer had reached
	// then.
	last    time.Time
	version string
	// lost says that the failure has lasted long enough to count.
	lost            bool
	reason, message string
}

// New returns a Watches without failures.
func New(c clock.Clock) *Watches { return &Watches{clock: c, failing: map[watched]*failure{}} }

// Probed records whether the member is ready. While it is not, failures other than refusals do not count: the Cluster
// reports the member.
func (w *Watches) Probed(ready bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unready = !ready
}

// Lost returns why the objects of a kind cannot be watched: a reason for a condition, and a message that says what to
// do. Both are empty if they can. The namespace is the one given to Informers.
func (w *Watches) Lost(kind schema.GroupVersionKind, namespace string) (reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.failing[watched{kind, namespace}]; f != nil && f.lost {
		return f.reason, f.message
	}
	return "", ""
}

// Subscribe calls f whenever a watch of a kind is lost, lost for another reason, or regained. f must not block.
func (w *Watches) Subscribe(f func(kind schema.GroupVersionKind)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subscribers = append(w.subscribers, f)
}

// Informers returns a constructor of informers for a cache (NewInformer of its options). Namespace is the one that
// the cache shows; empty means all.
func (w *Watches) Informers(
	namespace string,
) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, by toolscache.Indexers) toolscache.SharedIndexInformer {
		one := &listening{watches: w, next: toolscache.ToListerWatcherWithContext(from), what: watched{of.GetObjectKind().GroupVersionKind(), namespace}}
		out := toolscache.NewSharedIndexInformer(
			&toolscache.ListWatch{ListWithContextFunc: one.list, WatchFuncWithContext: one.watch}, of, resync, by)
		one.shown = out.GetStore()
		_ = out.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
			if isAnswer(err) { // if it lasts, this package reports it
				ctrl.Log.WithName("member").V(1).Info("Listing or watching objects of the member failed", "kind", one.what.kind.String(), "reason", err.Error())
				return
			}
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		})
		return out
	}
}

// isRefusal returns whether the member does not let the agent watch the kind, or does not serve it. Retrying does not
// help.
func isRefusal(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// isAnswer returns whether an error is the member's answer about one watch. If the member is unreachable or rejects
// the agent's credentials, all watches are affected, and the Cluster reports it.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsUnauthorized(err)
}

// listening is the ListerWatcher of one informer. It records how the member answers.
type listening struct {
	watches *Watches
	next    toolscache.ListerWatcherWithContext
	what    watched
	// shown is the informer's store.
	shown toolscache.Store
	// listUntil is until when the objects are listed rather than streamed, in nanoseconds.
	listUntil atomic.Int64
}

func (l *listening) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.next.ListWithContext(ctx, options)
	l.answered(ctx, err)
	return list, err //nolint:wrapcheck // The informer judges it.
}

func (l *listening) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	streams := options.SendInitialEvents != nil && *options.SendInitialEvents
	if streams && l.lists() {
		return nil, errListInstead
	}
	began, err := l.next.WatchWithContext(ctx, options)
	switch {
	case err != nil && streams && !apierrors.IsTooManyRequests(err): // the informer falls back to a list, whose result counts
		return began, err //nolint:wrapcheck // The informer judges it.
	case err != nil:
		l.answered(ctx, err)
		return began, err //nolint:wrapcheck // The informer judges it.
	case streams:
		return l.bounded(ctx, began), nil
	case l.watches.isFailing(l.what): // the informer has listed all objects before this watch
		go l.regain(ctx, options.ResourceVersion)
	}
	return began, nil
}

// answered records the member's answer to a request of the informer.
func (l *listening) answered(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && isAnswer(err) {
		l.watches.failed(l.what, err, l.shown.LastStoreSyncResourceVersion())
	}
}

// regain records that a watch works again, once the informer has processed its events, which pass through a queue.
func (l *listening) regain(ctx context.Context, version string) {
	last, before, failing := l.watches.failedAt(l.what)
	deadline := l.watches.clock.Now().Add(takeOver)
	for failing && !isTakenOver(l.shown.LastStoreSyncResourceVersion(), before, version) && l.watches.clock.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return
		case <-l.watches.clock.After(takeOverPoll):
		}
	}
	l.watches.regained(l.what, last)
}

// isTakenOver returns whether an informer at resourceVersion shows, formerly at before, has processed everything up
// to version. A member that was restored from a backup starts at lower versions.
func isTakenOver(shows, before, version string) bool {
	return shows == version || shows != before && !contract.Older(shows, version)
}

// endOfList returns the resourceVersion of an event, and whether the event is the bookmark that ends the initial
// objects.
func endOfList(e watch.Event) (version string, ends bool) {
	obj, ok := e.Object.(metav1.Object)
	if !ok || e.Type != watch.Bookmark || obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		return "", false
	}
	return obj.GetResourceVersion(), true
}

func (w *Watches) isFailing(what watched) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failing[what] != nil
}

// failedAt returns when a watch last failed, and the resourceVersion of its informer then.
func (w *Watches) failedAt(what watched) (last time.Time, version string, failing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.failing[what]
	if f == nil {
		return time.Time{}, "", false
	}
	return f.last, f.version, true
}

// failed records that the member answered a request with an error, while the informer was at a resourceVersion.
func (w *Watches) failed(what watched, err error, version string) {
	now := w.clock.Now()
	w.mu.Lock()
	f := w.failing[what]
	if f == nil {
		f = &failure{since: now}
		w.failing[what] = f
	}
	f.last, f.version = now, version
	switch {
	case !isRefusal(err):
		f.refused = time.Time{}
		if w.unready {
			f.since = now
		}
	case f.refused.IsZero():
		f.refused = now
	}
	lasts := now.Sub(f.since) >= failingPatience || !f.refused.IsZero() && now.Sub(f.refused) >= patience
	reason, message := explain(what, err)
	// A failing server may name a port or a time in its message, so that the text differs each time.
	changed := lasts && (!f.lost || f.reason != reason || f.message != message && isRefusal(err))
	if changed {
		f.lost, f.reason, f.message = true, reason, message
	}
	w.mu.Unlock()
	if changed {
		ctrl.Log.WithName("member").Info("Objects of the member can no longer be watched; each is read from time to time instead", "kind", what.kind.String(), "reason", message)
		w.tell(what.kind)
	}
}

// regained records that a watch works and its informer is complete, unless it has failed again since.
func (w *Watches) regained(what watched, last time.Time) {
	w.mu.Lock()
	f := w.failing[what]
	if f == nil || f.last.After(last) {
		w.mu.Unlock()
		return
	}
	delete(w.failing, what)
	w.mu.Unlock()
	if f.lost {
		ctrl.Log.WithName("member").Info("Objects of the member are watched again", "kind", what.kind.String())
		w.tell(what.kind)
	}
}

func (w *Watches) tell(kind schema.GroupVersionKind) {
	w.mu.Lock()
	subscribers := w.subscribers
	w.mu.Unlock()
	for _, f := range subscribers {
		f(kind)
	}
}
