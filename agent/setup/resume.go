package setup

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/presence"
	"fairlead.dev/common/contract"
)

const (
	// checkAfter is how long a resumed watch may be silent before the hub is asked for its latest resourceVersion.
	checkAfter = time.Second
	// answerAfter is the longest time that a hub takes to reject the resourceVersion of a watch it has accepted, and
	// othersTimeout how long one watch waits for the result of another.
	answerAfter   = 200 * time.Millisecond
	othersTimeout = 5 * time.Second
)

// resumed makes watches resume where they were, as long as the hub remembers their resourceVersion.
//
// A hub that was restarted remembers nothing: it ends each resumed watch with the answer that its version is too old,
// and everything is listed anew. It is enough if one watch of the agent finds that out; those whose list is cheap do
// not even try then.
//
// A watch from a version in the future is no error: it is silent until the hub reaches that version again, and misses
// everything up to then. So after the hub was restored from a snapshot of its disk, an agent would receive nothing
// and look healthy. The lease reveals that only if it was written after the snapshot, and while the line is the
// heartbeat it is written every ten minutes. Therefore a list must not be older than what was seen before, and for a
// watch of Works that is silent at first the hub is asked for its latest resourceVersion.
type resumed struct {
	toolscache.ListerWatcherWithContext

	sources *Sources
	// isCostly says that lists are to be avoided, and that the watch must be checked for silence.
	isCostly bool
	// listed is the version of the last list, from which its watch begins, and left the highest version at which a
	// watch was resumed. The informer does not call concurrently.
	listed, left string
	// began is when the last watch began.
	began time.Time
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
	if r.isCostly && contract.Older(r.listed, r.left) {
		r.sources.restored(&presence.RestoredError{Whose: "hub", Left: r.left, Found: r.listed})
	}
	return list, nil
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (r *resumed) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	left, listed := options.ResourceVersion, r.listed
	goesOn := left != "" && left != listed && options.SendInitialEvents == nil
	r.listed = "" // a second watch from that version is a resumed one
	asked := func() {}
	if goesOn {
		asked = r.sources.ask(ctx, !r.isCostly)
		if !r.isCostly && r.sources.hasForgotten(r.began) {
			asked()
			return nil, apierrors.NewResourceExpired("the hub was started anew")
		}
	}
	began := r.sources.clock.Now()
	inner, err := r.ListerWatcherWithContext.WatchWithContext(ctx, options)
	if err != nil {
		asked()
		return nil, err //nolint:wrapcheck // It stands for what watches.
	}
	r.began = began
	if !goesOn {
		return inner, nil
	}
	r.left = left
	ctx, stop := context.WithCancel(ctx)
	out := &resumedWatch{inner: inner, result: make(chan watch.Event), stop: stop}
	checking, heard := context.WithCancel(ctx)
	if r.isCostly {
		go r.checkVersion(checking, left)
	}
	go out.pass(ctx, func(e watch.Event) {
		heard() // it is not silent
		if e.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			r.sources.noteForgotten()
		}
		asked()
	})
	go func() {
		select {
		case <-r.sources.clock.After(answerAfter):
		case <-ctx.Done():
		}
		asked()
	}()
	return out, nil
}

// resumedWatch is a watch that resumes where another one was.
type resumedWatch struct {
	inner  watch.Interface
	result chan watch.Event
	stop   context.CancelFunc
}

// pass forwards the events of the inner watch until it or the context ends.
func (r *resumedWatch) pass(ctx context.Context, see func(watch.Event)) {
	defer close(r.result)
	for e := range r.inner.ResultChan() {
		see(e)
		select {
		case r.result <- e:
		case <-ctx.Done():
			return
		}
	}
}

// Stop implements watch.Interface.
func (r *resumedWatch) Stop() {
	r.stop()
	r.inner.Stop()
}

// ResultChan implements watch.Interface.
func (r *resumedWatch) ResultChan() <-chan watch.Event { return r.result }

// checkVersion asks the hub for its latest resourceVersion if the watch stays silent, and retries until there is an
// answer or the context ends.
func (r *resumed) checkVersion(ctx context.Context, left string) {
	for pause := checkAfter; ; pause = wait.Jitter(askAgain, 1) {
		select {
		case <-ctx.Done():
			return
		case <-r.sources.clock.After(pause):
		}
		if now, err := r.version(ctx); err == nil {
			if contract.Older(now, left) {
				r.sources.restored(&presence.RestoredError{Whose: "hub", Left: left, Found: now})
			}
			return
		}
	}
}

// ask announces an attempt to resume a watch, until the returned function is called. If waits is set, it first waits
// for another attempt in progress, a few seconds at most: a hub that hangs, or a proxy that forwards nothing before
// the first event, must not block the others.
func (s *Sources) ask(ctx context.Context, waits bool) (asked func()) {
	for began := s.clock.Now(); ; {
		s.mu.Lock()
		other := s.asking
		left := othersTimeout - s.clock.Since(began)
		if other == nil || !waits || left <= 0 || ctx.Err() != nil {
			own := make(chan struct{})
			s.asking = own
			s.mu.Unlock()
			return sync.OnceFunc(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				close(own)
				if s.asking == own {
					s.asking = nil
				}
			})
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-s.clock.After(left):
		case <-ctx.Done():
		}
	}
}

// noteForgotten records that the hub no longer remembers the resourceVersion of a watch.
func (s *Sources) noteForgotten() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot = s.clock.Now()
}

// hasForgotten returns whether that happened to any watch since a time.
func (s *Sources) hasForgotten(began time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgot.After(began)
}

// nothing selects no object: a list with it returns the latest resourceVersion without transferring manifests over a
// metered network.
const nothing = "metadata.name=nothing.fairlead.dev"

// version returns the hub's latest resourceVersion. A list without a resourceVersion is the latest.
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

// restores ends the agent once the hub turns out to have been restored.
type restores chan *presence.RestoredError

func newRestores() restores { return make(restores, 1) }

// tell records it, unless it was recorded before.
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
