package watches

import (
	"context"
	"errors"
	"sync"
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
	// patience is for how long a watch must have been refused to count as lost. An informer asks about four times in that time.
	patience = 5 * time.Second
	// failingPatience is the same for one of which the member says that it failed, as it may while it starts or is busy. An informer asks once a
	// minute by then.
	failingPatience = time.Minute
	// takeOver bounds how long an informer is waited for to take over what it was shown, and takeOverPoll is how often it is looked whether it has.
	takeOver     = 10 * time.Second
	takeOverPoll = 5 * time.Millisecond
)

// Watches knows which watches are lost. It is safe for use by many goroutines.
type Watches struct {
	clock clock.Clock

	mu sync.Mutex
	// failing are the watches that the member refused, or failed to begin, when it was last asked.
	failing map[watched]*failure
	// unready says that the member says that it is not ready.
	unready     bool
	subscribers []func(schema.GroupVersionKind)
}

// watched is what one informer shows: the objects of a kind, of one namespace or, where that is empty, of all.
type watched struct {
	kind      schema.GroupVersionKind
	namespace string
}

// failure is what the member answered instead.
type failure struct {
	// since is when it began, and refused since when the member refuses; zero if it was something else that it answered last.
	since, refused time.Time
	// last is when this was last answered, and version that of what the informer showed then.
	last    time.Time
	version string
	// lost says that it has lasted.
	lost            bool
	reason, message string
}

// New returns one that knows of no failure.
func New(c clock.Clock) *Watches { return &Watches{clock: c, failing: map[watched]*failure{}} }

// Probed takes over whether the member is ready. What one that is not ready fails to do is no failure of a watch: it is told of the Cluster.
func (w *Watches) Probed(ready bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unready = !ready
}

// Lost returns why the objects of a kind cannot be watched: a reason for a condition, and a sentence that says what to do. Both are empty if they
// can. The namespace is the one given to Informers.
func (w *Watches) Lost(kind schema.GroupVersionKind, namespace string) (reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.failing[watched{kind, namespace}]; f != nil && f.lost {
		return f.reason, f.message
	}
	return "", ""
}

// Subscribe has f called whenever a watch of a kind was lost, or lost for another reason, or regained. f must not wait.
func (w *Watches) Subscribe(f func(kind schema.GroupVersionKind)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subscribers = append(w.subscribers, f)
}

// Informers returns what makes the informers of a cache (NewInformer of its options). Namespace is the one whose objects the cache shows; empty is all.
func (w *Watches) Informers(
	namespace string,
) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, by toolscache.Indexers) toolscache.SharedIndexInformer {
		one := &listening{watches: w, next: toolscache.ToListerWatcherWithContext(from), what: watched{of.GetObjectKind().GroupVersionKind(), namespace}}
		out := toolscache.NewSharedIndexInformer(
			&toolscache.ListWatch{ListWithContextFunc: one.list, WatchFuncWithContext: one.watch}, of, resync, by)
		one.shown = out.GetStore()
		_ = out.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) { // it fails for one that runs
			if isAnswer(err) { // if it lasts, that is told here
				ctrl.Log.WithName("member").V(1).Info("Listing or watching objects of the member failed", "kind", one.what.kind.String(), "reason", err.Error())
				return
			}
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		})
		return out
	}
}

// isRefusal says whether an error is that the member does not let the agent watch a kind, or does not have it. It makes no difference to ask again.
func isRefusal(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// isAnswer says whether an error is one that the member answered about a watch. That nobody answered, or that the member does not know the agent any
// more, is about all of them, and told of the Cluster.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsUnauthorized(err)
}

// listening lists and watches for one informer, and notes how that is answered.
type listening struct {
	watches *Watches
	next    toolscache.ListerWatcherWithContext
	what    watched
	// shown is what the informer shows.
	shown toolscache.Store
}

func (l *listening) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.next.ListWithContext(ctx, options)
	l.answered(ctx, err)
	return list, err //nolint:wrapcheck // The informer judges it.
}

func (l *listening) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	began, err := l.next.WatchWithContext(ctx, options)
	streams := options.SendInitialEvents != nil && *options.SendInitialEvents
	switch {
	case err != nil && streams && !apierrors.IsTooManyRequests(err): // the informer lists instead, and it counts what comes of that
		return began, err //nolint:wrapcheck // The informer judges it.
	case err != nil:
		l.answered(ctx, err)
		return began, err //nolint:wrapcheck // The informer judges it.
	case !l.watches.isFailing(l.what):
		return began, nil
	case !streams: // all objects were listed before
		go l.regain(ctx, options.ResourceVersion)
		return began, nil
	}
	return watch.Filter(began, func(e watch.Event) (watch.Event, bool) {
		if version, ends := endOfList(e); ends {
			go l.regain(ctx, version)
		}
		return e, true
	}), nil
}

// answered notes what the member answered to a question.
func (l *listening) answered(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && isAnswer(err) {
		l.watches.failed(l.what, err, l.shown.LastStoreSyncResourceVersion())
	}
}

// regain notes that a watch began anew, once the informer shows what it was shown: that goes through a queue.
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

// isTakenOver says whether an informer that shows a version, and showed another one before, has taken over what it was shown of a third. A member
// that was restored from a backup begins with lower ones.
func isTakenOver(shows, before, version string) bool {
	return shows == version || shows != before && !contract.Older(shows, version)
}

// endOfList returns the version of an event that is the end of what a watch shows of objects that were there before it, and whether it is that.
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

// failedAt returns when a watch last failed, and what its informer showed then.
func (w *Watches) failedAt(what watched) (last time.Time, version string, failing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.failing[what]
	if f == nil {
		return time.Time{}, "", false
	}
	return f.last, f.version, true
}

// failed notes what the member answered instead of objects, while their informer showed a version.
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
	// What a server says that fails may name a port or a time, and is another one each time.
	changed := lasts && (!f.lost || f.reason != reason || f.message != message && isRefusal(err))
	if changed {
		f.lost, f.reason, f.message = true, reason, message
	}
	w.mu.Unlock()
	if changed {
		ctrl.Log.WithName("member").Info("Objects of the member cannot be watched any more; each is read now and then instead", "kind", what.kind.String(), "reason", message)
		w.tell(what.kind)
	}
}

// regained notes that objects are watched, all of which are shown, unless that failed anew since.
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
