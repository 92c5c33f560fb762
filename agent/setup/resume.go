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
	// checkAfter is how long a watch that goes on may be silent until the hub is asked how far it is.
	checkAfter = time.Second
	// answerAfter is how long a hub takes at most to say of a watch that it accepted that it does not remember its version, and othersTimeout
	// how long one watch waits until another one has been answered.
	answerAfter   = 200 * time.Millisecond
	othersTimeout = 5 * time.Second
)

// resumed has a watch go on where it was, for as long as the hub remembers that.
//
// A hub that was started anew remembers nothing: it ends each watch that is to go on with the answer that its version is too old, and all is
// listed anew. One watch of an agent need find that out. The others of which a list costs little do not even try.
//
// A watch from a version that is yet to come is no error: it says nothing until the hub is there once more, and leaves out what has come until
// then. So would an agent be deaf, and well to look at, to a hub that was restored from a snapshot of its disk. The lease tells as much only
// if it was written after the snapshot, and while the line is the sign of life it is written every ten minutes. So a list must not be older
// than what was seen before, and of a watch of Works that is silent at first the hub is asked how far it is.
type resumed struct {
	toolscache.ListerWatcherWithContext

	sources *Sources
	// isCostly says that a list is not made without need, and that the watch may not be deaf.
	isCostly bool
	// listed is the version of the last list, from which its watch begins, and left the latest at which a watch was to go on. An informer
	// does one thing at a time.
	listed, left string
	// began is when the last watch did.
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
	r.listed = "" // what begins there once goes on from there another time
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
		heard() // it is not deaf
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

// resumedWatch is a watch that goes on where another one was.
type resumedWatch struct {
	inner  watch.Interface
	result chan watch.Event
	stop   context.CancelFunc
}

// pass passes on what the inner watch says, until that ends or the context does.
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

// checkVersion asks how far the hub is, once the watch was silent for a moment, until it answers or the context ends.
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

// ask has others who wait do so until the returned function is called. Who waits does so for whoever asks now, and for a few seconds at most:
// a hub that hangs, or a proxy that passes nothing on before the first event, holds nobody up.
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

// noteForgotten takes over that the hub does not remember where a watch was.
func (s *Sources) noteForgotten() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot = s.clock.Now()
}

// hasForgotten says whether that was so of a watch after another one began.
func (s *Sources) hasForgotten(began time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgot.After(began)
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
