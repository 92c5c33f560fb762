package setup

import (
	"context"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// specs restores what a hub omits on a watch of Works (see brief): the manifests of a Work whose present generation
// the agent has reported on. They come from the last list, and from the events since. If they are not known, or are
// of another generation, the watch ends with an error and everything is listed anew.
type specs struct {
	toolscache.ListerWatcherWithContext

	// known are the specs from the last list, and from the watches since.
	known *knownSpecs
}

// knownSpecs maps the UID of a Work to its spec. It is safe for concurrent use: the informer does not call
// concurrently, but a watch that it ended may still process an event.
type knownSpecs struct {
	mu sync.Mutex
	of map[types.UID]knownSpec
}

// knownSpec shares its manifests with the Work in the cache.
type knownSpec struct {
	generation int64
	spec       workv1alpha1.WorkSpec
}

// ListWithContext implements toolscache.ListerWatcherWithContext. The result may be one page of a list.
func (s *specs) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.ListerWatcherWithContext.ListWithContext(ctx, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // It stands for what lists.
	}
	if options.Continue == "" {
		s.known = &knownSpecs{of: map[types.UID]knownSpec{}}
	}
	if works, ok := list.(*workv1alpha1.WorkList); ok {
		s.known.mu.Lock()
		defer s.known.mu.Unlock()
		for i := range works.Items {
			s.known.learn(&works.Items[i])
		}
	}
	return list, nil
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (s *specs) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := s.ListerWatcherWithContext.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // It stands for what watches.
	}
	if s.known == nil {
		s.known = &knownSpecs{of: map[types.UID]knownSpec{}}
	}
	whole := &wholeEvents{Interface: events, result: make(chan watch.Event), stopped: make(chan struct{})}
	go whole.pass(s.known)
	return whole, nil
}

// wholeEvents is a watch whose events have been completed.
type wholeEvents struct {
	watch.Interface

	result  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

// ResultChan implements watch.Interface.
func (w *wholeEvents) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *wholeEvents) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

// pass forwards events until the watch ends.
func (w *wholeEvents) pass(known *knownSpecs) {
	defer close(w.result)
	for event := range w.Interface.ResultChan() {
		if isLost(event) {
			w.Interface.Stop()
			return
		}
		select {
		case w.result <- known.whole(event):
		case <-w.stopped: // drain the inner watch
		}
	}
}

// connectionLost is the text of net/http's error for a connection on which a ping was not answered.
const connectionLost = "http2: client connection lost"

// isLost returns whether an event reports a lost connection. To an informer that is a server error, upon which it
// lists everything anew: a quarter of a megabyte for a thousand small Works, each time that a ship loses its link. A
// watch that merely ends is resumed.
func isLost(event watch.Event) bool {
	return event.Type == watch.Error && strings.Contains(apierrors.FromObject(event.Object).Error(), connectionLost)
}

// whole returns an event with the omitted manifests, or an error event that ends the watch.
func (k *knownSpecs) whole(event watch.Event) watch.Event {
	work, isWork := event.Object.(*workv1alpha1.Work)
	if !isWork {
		return event
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch event.Type {
	case watch.Deleted:
		delete(k.of, work.UID)
	case watch.Modified:
		if len(work.Spec.Workload.Manifests) > 0 || work.Status.ObservedGeneration != work.Generation {
			k.learn(work)
			break
		}
		known, ok := k.of[work.UID]
		if !ok || known.generation != work.Generation {
			unknown := apierrors.NewResourceExpired("the hub omitted the manifests of Work " + work.Name + ", and this agent does not have them")
			return watch.Event{Type: watch.Error, Object: new(unknown.Status())}
		}
		work.Spec = known.spec
	case watch.Added:
		k.learn(work)
	case watch.Bookmark, watch.Error: // they carry no Work
	}
	return event
}

// learn records the spec of a Work.
func (k *knownSpecs) learn(work *workv1alpha1.Work) {
	k.of[work.UID] = knownSpec{generation: work.Generation, spec: work.Spec}
}
