package watches

import (
	"context"
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
)

// patience is for how long a watch must have been refused to count as lost. An informer asks about four times in that time.
const patience = 5 * time.Second

// Watches knows which watches are lost. It is safe for use by many goroutines.
type Watches struct {
	clock clock.Clock

	mu sync.Mutex
	// refused are the watches that the member refused when it was last asked.
	refused     map[watched]*refusal
	subscribers []func(schema.GroupVersionKind)
}

// watched is what one informer shows: the objects of a kind, of one namespace or, where that is empty, of all.
type watched struct {
	kind      schema.GroupVersionKind
	namespace string
}

// refusal is what the member answered instead.
type refusal struct {
	since time.Time
	// lost says that it has lasted.
	lost            bool
	reason, message string
}

// New returns one that knows of no refusal.
func New(c clock.Clock) *Watches { return &Watches{clock: c, refused: map[watched]*refusal{}} }

// Lost returns why the objects of a kind cannot be watched: a reason for a condition, and a sentence that says what to do. Both are empty if they
// can. The namespace is the one given to Informers.
func (w *Watches) Lost(kind schema.GroupVersionKind, namespace string) (reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.refused[watched{kind, namespace}]; r != nil && r.lost {
		return r.reason, r.message
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
		what := watched{of.GetObjectKind().GroupVersionKind(), namespace}
		out := toolscache.NewSharedIndexInformer(w.listening(from, what), of, resync, by)
		_ = out.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) { // it fails for one that runs
			if isRefusal(err) {
				w.failed(what, err)
			} else {
				toolscache.DefaultWatchErrorHandler(ctx, r, err)
			}
		})
		return out
	}
}

// isRefusal says whether an error is that the member does not let the agent watch a kind, or does not have it. It makes no difference to ask again.
func isRefusal(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// listening returns the same lists and watches, of which it is noted when a watch that was refused begins again.
func (w *Watches) listening(from toolscache.ListerWatcher, what watched) toolscache.ListerWatcher {
	next := toolscache.ToListerWatcherWithContext(from)
	return &toolscache.ListWatch{
		ListWithContextFunc: next.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			began, err := next.WatchWithContext(ctx, options)
			if err != nil || !w.isRefused(what) {
				return began, err //nolint:wrapcheck // The informer judges it.
			}
			if options.SendInitialEvents == nil || !*options.SendInitialEvents { // all objects were listed before
				w.regained(what)
				return began, nil
			}
			return watch.Filter(began, func(e watch.Event) (watch.Event, bool) {
				if endsList(e) {
					w.regained(what)
				}
				return e, true
			}), nil
		},
	}
}

// endsList says whether an event is the end of what a watch shows of objects that were there before it.
func endsList(e watch.Event) bool {
	obj, ok := e.Object.(metav1.Object)
	return ok && e.Type == watch.Bookmark && obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

func (w *Watches) isRefused(what watched) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused[what] != nil
}

// failed notes that the member refused to list or watch objects.
func (w *Watches) failed(what watched, err error) {
	now := w.clock.Now()
	w.mu.Lock()
	r := w.refused[what]
	if r == nil {
		r = &refusal{since: now}
		w.refused[what] = r
	}
	lasts := now.Sub(r.since) >= patience
	reason, message := explain(what, err)
	changed := lasts && (!r.lost || r.message != message)
	if changed {
		r.lost, r.reason, r.message = true, reason, message
	}
	w.mu.Unlock()
	if changed {
		ctrl.Log.WithName("member").Info("Objects of the member cannot be watched any more; each is read now and then instead", "kind", what.kind.String(), "reason", message)
		w.tell(what.kind)
	}
}

// regained notes that objects are watched, all of which were shown.
func (w *Watches) regained(what watched) {
	w.mu.Lock()
	r := w.refused[what]
	delete(w.refused, what)
	w.mu.Unlock()
	if r != nil && r.lost {
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
