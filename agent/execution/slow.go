package execution

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// slowAfter is after how long a write that was not answered is a slow one. A webhook has 10 s by itself, and 30 s at most.
	slowAfter = 5 * time.Second
	// strikes are what a slow write counts, of which each that is answered well takes one away, and mostStrikes how many there are at most:
	// a webhook may be about some objects of a kind and not about others.
	strikes     = 4
	mostStrikes = 2 * strikes
)

// errNoRoom says that a write was not made, since too many workers wait for slow answers already.
var errNoRoom = errors.New("the member answers slowly about such objects, as where one of its admission webhooks does not answer, " +
	"so only a few of them are tried at a time; this is tried again by itself")

// roomRetry returns after how long it is looked again whether there is room for a write: the others wait for an answer.
func roomRetry() time.Duration { return wait.Jitter(slowAfter, 1) }

// place is where writes may be slow: a webhook is called for a kind, a namespace, or a kind there. Of a cluster-scoped kind the namespace is empty.
type place struct {
	schema.GroupKind

	namespace string
}

// slowWrites bounds how many workers wait at a time for a member that answers slowly about some of its objects, so that the others go through.
type slowWrites struct {
	clock clock.PassiveClock
	// most is how many workers may wait for slow answers at a time, and mostKnown how many of them about places that are known to be
	// slow. What is left to the others is for places of which that is yet to be found out: they are near slow ones.
	most, mostKnown int

	mu    sync.Mutex
	under map[*write]struct{}
	// strikes are those of places at or near which writes were slow; zero if they are answered well.
	strikes map[place]int
}

// write is one that is under way.
type write struct {
	place

	since time.Time
	// bounded says that it was made because there was room for it, and known that it is about a place that is known to be slow.
	bounded, known bool
}

func newSlowWrites(c clock.PassiveClock, workers int) *slowWrites {
	most := max(workers/2, 1)
	return &slowWrites{clock: c, most: most, mostKnown: max(most/2, 1), under: map[*write]struct{}{}, strikes: map[place]int{}}
}

// Begin says whether a write may be made now. If it may, it ends with End.
func (s *slowWrites) Begin(at place) (*write, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	count, judged := s.strikes[at]
	w := &write{place: at, since: now, known: count > 0, bounded: count > 0 || !judged && s.isNear(at, now)}
	held, known := 0, 0
	for other := range s.under {
		late := now.Sub(other.since) >= slowAfter
		if late && other.place == at {
			w.bounded, w.known = true, true
		}
		if other.bounded || late {
			held++
		}
		if other.known || late {
			known++
		}
	}
	if w.bounded && (held >= s.most || w.known && known >= s.mostKnown) {
		return nil, false
	}
	s.under[w] = struct{}{}
	return w, true
}

// isNear says whether writes about the kind of a place, or in its namespace, are slow.
func (s *slowWrites) isNear(at place, now time.Time) bool {
	near := func(other place) bool {
		return other.GroupKind == at.GroupKind || at.namespace != "" && other.namespace == at.namespace
	}
	for other, count := range s.strikes {
		if count > 0 && near(other) {
			return true
		}
	}
	for other := range s.under {
		if now.Sub(other.since) >= slowAfter && near(other.place) {
			return true
		}
	}
	return false
}

// End notes how a write was answered, and says whether writes of its place are slow now, and whether they were before.
func (s *slowWrites) End(w *write, err error) (was, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.under, w)
	count, judged := s.strikes[w.place]
	was = count > 0
	switch {
	case calledWebhook(err) || s.clock.Since(w.since) >= slowAfter:
		count = min(count+strikes, mostStrikes)
	case err == nil && (judged || w.bounded):
		count = max(count-1, 0)
	default: // what was refused before a webhook was called tells nothing
		return was, was
	}
	s.strikes[w.place] = count
	for _, other := range s.strikes {
		if other > 0 {
			return was, count > 0
		}
	}
	clear(s.strikes)
	return was, false
}

// boundedClient makes the writes for which there is room; the others fail with errNoRoom.
type boundedClient struct {
	client.Client

	slow *slowWrites
}

// do makes one write.
func (b boundedClient) do(ctx context.Context, kind schema.GroupVersionKind, namespace string, write func() error) error {
	at := place{GroupKind: kind.GroupKind(), namespace: namespace}
	w, ok := b.slow.Begin(at)
	if !ok {
		return errNoRoom
	}
	err := write()
	switch was, is := b.slow.End(w, err); {
	case is && !was:
		ctrl.LoggerFrom(ctx).Info("The member answers slowly, or a webhook of it not at all: of such objects only a few are tried at a time from now on, so that the others go through",
			"kind", at.String(), "namespace", namespace)
	case was && !is:
		ctrl.LoggerFrom(ctx).Info("The member answers well again", "kind", at.String(), "namespace", namespace)
	}
	return err //nolint:wrapcheck // It stands for the client.
}

// Apply implements client.Client.
func (b boundedClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	write := func() error { return b.Client.Apply(ctx, obj, opts...) }
	named, ok := obj.(interface {
		GroupVersionKind() schema.GroupVersionKind
		GetNamespace() string
	})
	if !ok { // what is applied here is unstructured
		return write()
	}
	return b.do(ctx, named.GroupVersionKind(), named.GetNamespace(), write)
}

// Patch implements client.Client.
func (b boundedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return b.do(ctx, obj.GetObjectKind().GroupVersionKind(), obj.GetNamespace(), func() error { return b.Client.Patch(ctx, obj, patch, opts...) })
}

// Delete implements client.Client.
func (b boundedClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return b.do(ctx, obj.GetObjectKind().GroupVersionKind(), obj.GetNamespace(), func() error { return b.Client.Delete(ctx, obj, opts...) })
}
