package eventsink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// eventLanes is the number of events written in parallel, and eventsWaiting the number that may wait in each lane.
	eventLanes    = 8
	eventsWaiting = 500
	// seriesEnd is the time after its last event at which a series ends. The count of a running series is written
	// every seriesTold.
	seriesEnd  = 6 * time.Minute
	seriesTold = 30 * time.Minute
	// seriesLook is the interval at which series are checked.
	seriesLook = time.Minute
	// mostSeries bounds how many events each lane remembers for counting repetitions.
	mostSeries = 500
	// An event is tried eventTries times, eventPause apart, while the API cannot be reached.
	eventTries = 12
	eventPause = 10 * time.Second
)

// eventQueue writes events in order, in a few lanes; equal events share a lane. The first of equal events is written,
// the second starts a series, and the count of the series is written when it ends.
type eventQueue struct {
	sink    events.EventSink
	clock   clock.WithTicker
	lanes   [eventLanes]chan *eventsv1.Event
	seed    maphash.Seed
	dropped atomic.Int64
}

func newEventQueue(sink events.EventSink, c clock.WithTicker) *eventQueue {
	q := &eventQueue{sink: sink, clock: c, seed: maphash.MakeSeed()}
	for i := range q.lanes {
		q.lanes[i] = make(chan *eventsv1.Event, eventsWaiting)
	}
	return q
}

// add queues an event, or drops it if its lane is full.
func (q *eventQueue) add(event *eventsv1.Event) {
	select {
	case q.lanes[maphash.Comparable(q.seed, seriesOf(event))%eventLanes] <- event:
	default:
		q.dropped.Add(1)
	}
}

// run writes until the context ends.
func (q *eventQueue) run(ctx context.Context) error {
	var lanes sync.WaitGroup
	for i := range q.lanes {
		lanes.Go(func() { (&eventLane{queue: q, series: map[seriesKey]*eventSeries{}}).run(ctx, q.lanes[i]) })
	}
	lanes.Wait()
	return nil
}

// seriesKey identifies events that differ only in time. Only the first of them is written.
type seriesKey struct {
	kind, action, reason, controller, instance string
	regarding, related                         corev1.ObjectReference
}

func seriesOf(e *eventsv1.Event) seriesKey {
	out := seriesKey{
		kind: e.Type, action: e.Action, reason: e.Reason, controller: e.ReportingController, instance: e.ReportingInstance, regarding: e.Regarding,
	}
	if e.Related != nil {
		out.related = *e.Related
	}
	return out
}

// eventSeries is a written event and the number of its repetitions.
type eventSeries struct {
	event *eventsv1.Event
	// count is the number of events in the series, and told the number written last.
	count, told int32
	last, wrote time.Time
}

// eventLane writes events one after the other.
type eventLane struct {
	queue  *eventQueue
	series map[seriesKey]*eventSeries
}

func (l *eventLane) run(ctx context.Context, from <-chan *eventsv1.Event) {
	ticker := l.queue.clock.NewTicker(seriesLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-from:
			l.tell(ctx, event)
		case <-ticker.C():
			l.look(ctx)
			if n := l.queue.dropped.Swap(0); n > 0 {
				ctrl.LoggerFrom(ctx).Info("Dropped events, the API server did not take them as fast as they came", "count", n)
			}
		}
	}
}

// tell writes an event, or counts it as a repetition.
func (l *eventLane) tell(ctx context.Context, event *eventsv1.Event) {
	key, now := seriesOf(event), l.queue.clock.Now()
	s := l.series[key]
	if s != nil && now.Sub(s.last) >= seriesEnd {
		l.end(ctx, key, s)
		s = nil
	}
	if s == nil {
		if len(l.series) >= mostSeries {
			for other, s := range l.series { // an arbitrary one; it starts over if it continues
				l.end(ctx, other, s)
				break
			}
		}
		l.series[key] = &eventSeries{event: event, count: 1, told: 1, last: now, wrote: now}
		l.write(ctx, event, func() error {
			_, err := l.queue.sink.Create(ctx, event.DeepCopy())
			return err
		})
		return
	}
	s.count++
	s.last = now
	if s.count == 2 {
		l.count(ctx, s)
	}
}

// look ends the series without new events, and writes the counts of the others.
func (l *eventLane) look(ctx context.Context) {
	now := l.queue.clock.Now()
	for key, s := range l.series {
		switch {
		case now.Sub(s.last) >= seriesEnd:
			l.end(ctx, key, s)
		case s.told < s.count && now.Sub(s.wrote) >= seriesTold:
			l.count(ctx, s)
		}
	}
}

func (l *eventLane) end(ctx context.Context, key seriesKey, s *eventSeries) {
	if s.told < s.count {
		l.count(ctx, s)
	}
	delete(l.series, key)
}

// count writes the count of a series. If the event has expired in the API, it is written again.
func (l *eventLane) count(ctx context.Context, s *eventSeries) {
	s.told, s.wrote = s.count, l.queue.clock.Now()
	series := &eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.MicroTime{Time: s.last}}
	data, err := json.Marshal(map[string]any{"series": series})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Leaving out how often an event happened", "reason", s.event.Reason)
		return
	}
	l.write(ctx, s.event, func() error {
		event := s.event.DeepCopy()
		event.Series = series
		_, err := l.queue.sink.Patch(ctx, event, data)
		if apierrors.IsNotFound(err) {
			_, err = l.queue.sink.Create(ctx, event)
		}
		return err
	})
}

// write retries until the API answers, at most eventTries times. Any answer is final, even a refusal.
func (l *eventLane) write(ctx context.Context, event *eventsv1.Event, try func() error) {
	for range eventTries {
		err := try()
		switch {
		case err == nil || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled):
			return
		case errors.As(err, new(apierrors.APIStatus)):
			ctrl.LoggerFrom(ctx).Error(err, "Dropping an event, the API server does not take it", "namespace", event.Namespace, "reason", event.Reason, "note", event.Note)
			return
		}
		ctrl.LoggerFrom(ctx).V(1).Info("Trying an event again", "reason", event.Reason, "error", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-l.queue.clock.After(wait.Jitter(eventPause, 0.25)):
		}
	}
	ctrl.LoggerFrom(ctx).Error(fmt.Errorf("the API server was not reached %d times", eventTries), "Dropping an event", "namespace", event.Namespace, "reason", event.Reason)
}
