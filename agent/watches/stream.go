package watches

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	ctrl "sigs.k8s.io/controller-runtime"
)

// A watch may begin with the existing objects (sendInitialEvents) and mark their end with a bookmark. Without that
// bookmark the informer would show its old content for ever. It may never come: from an API server that cannot learn
// from its database how far that is, or through a proxy that holds back short chunks.

const (
	// quiet is how long a stream may send nothing before its bookmark, and longest how long it may take in all.
	quiet   = 30 * time.Second
	longest = 5 * time.Minute
	// listFor is how long objects are listed instead after a stream did not end.
	listFor = time.Hour
)

var (
	// errEndless stands for the answer of a member whose stream does not end.
	errEndless = apierrors.NewTimeoutError("it did not reach the end of the objects", 0)
	// errListInstead makes an informer fall back to listing.
	errListInstead = errors.New("the objects are listed, because their stream did not end")
)

// stream is a watch that begins with the existing objects.
type stream struct {
	watch.Interface

	result chan watch.Event
	done   chan struct{}
	stop   func()
}

// ResultChan implements watch.Interface.
func (s *stream) ResultChan() <-chan watch.Event { return s.result }

// Stop implements watch.Interface.
func (s *stream) Stop() { s.stop() }

// bounded wraps a stream so that it stops if its bookmark does not arrive in time; the informer then lists.
func (l *listening) bounded(ctx context.Context, began watch.Interface) watch.Interface {
	s := &stream{Interface: began, result: make(chan watch.Event), done: make(chan struct{})}
	s.stop = sync.OnceFunc(func() {
		close(s.done)
		began.Stop()
	})
	go l.forward(ctx, s)
	return s
}

func (l *listening) forward(ctx context.Context, s *stream) {
	defer close(s.result)
	clock := l.watches.clock
	until := clock.Now().Add(longest)
	timer := clock.NewTimer(quiet)
	defer timer.Stop()
	whole := false
	for {
		select {
		case <-s.done:
			return
		case <-timer.C():
			if !whole {
				l.endless(ctx)
				s.Stop()
				return
			}
		case event, ok := <-s.Interface.ResultChan():
			if !ok {
				return
			}
			if version, ends := endOfList(event); ends && !whole {
				whole = true
				timer.Stop()
				if l.watches.isFailing(l.what) {
					go l.regain(ctx, version)
				}
			}
			select {
			case s.result <- event:
			case <-s.done:
				return
			}
			if !whole {
				timer.Reset(max(min(quiet, until.Sub(clock.Now())), 0))
			}
		}
	}
}

// endless records that a stream did not end. The kind counts as lost if the list that replaces it fails too, or is
// not answered in time.
func (l *listening) endless(ctx context.Context) {
	ctrl.Log.WithName("member").Info("The member does not reach the end when it streams the objects of a kind; they are listed instead", "kind", l.what.kind.String())
	l.listUntil.Store(l.watches.clock.Now().Add(listFor).UnixNano())
	l.answered(ctx, errEndless)
	last, _, failing := l.watches.failedAt(l.what)
	if !failing {
		return // the informer was stopped
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-l.watches.clock.After(failingPatience):
			if now, _, failing := l.watches.failedAt(l.what); failing && now.Equal(last) { // nothing was answered since, success or failure
				l.answered(ctx, errEndless)
			}
		}
	}()
}

// lists returns whether the objects are to be listed rather than streamed.
func (l *listening) lists() bool { return l.watches.clock.Now().UnixNano() < l.listUntil.Load() }
