package setup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
)

// Rate limits on the agent's events: bursts and rates, per object and in total. In an hour, for which the hub keeps
// events, this makes about half of the names that contract.AgentEvents has for them.
const (
	eventsOfOne      = 25
	eventsOfOneRate  = 1. / 300
	eventsOfAll      = 100
	eventsOfAllRate  = 1. / 8
	objectsInMind    = 4096
	namesTriedForOne = 8
)

// eventSink returns the agent's event sink, which limits the rate and uses the names that the hub's API allows.
func eventSink(recorder events.EventRecorder, all bool, c clock.PassiveClock) eventsink.Sink {
	l := &eventLimit{
		sink: eventsink.New(recorder, all), all: all, clock: c,
		whole: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(eventsOfAllRate, eventsOfAll, c),
		byOne: map[string]flowcontrol.PassiveRateLimiter{},
	}
	return l.tell
}

// eventLimit drops events when there are too many, and mentions that in the next one.
type eventLimit struct {
	sink  eventsink.Sink
	all   bool
	clock clock.PassiveClock

	mu    sync.Mutex
	whole flowcontrol.PassiveRateLimiter
	byOne map[string]flowcontrol.PassiveRateLimiter
	// left counts the events dropped since the last one that was written.
	left int
}

func (l *eventLimit) tell(e eventsink.Event) {
	if e.Detail && !l.all {
		return
	}
	left, ok := l.take(e)
	if !ok {
		return
	}
	if left > 0 {
		e.Note = fmt.Sprintf("%s (%d events before this one were left out, because there were too many; see the conditions of the Works)", e.Note, left)
	}
	l.sink(e)
}

// take returns whether an event may be written, and how many were dropped before it.
func (l *eventLimit) take(e eventsink.Event) (left int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	about := objectOf(e)
	one := l.byOne[about]
	if one == nil {
		if len(l.byOne) >= objectsInMind {
			clear(l.byOne)
		}
		one = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(eventsOfOneRate, eventsOfOne, l.clock)
		l.byOne[about] = one
	}
	if !one.TryAccept() || !l.whole.TryAccept() {
		l.left++
		return 0, false
	}
	left, l.left = l.left, 0
	return left, true
}

// objectOf returns a key for the object of an event.
func objectOf(e eventsink.Event) string {
	if ref, ok := e.Regarding.(*corev1.ObjectReference); ok {
		return ref.Namespace + "/" + ref.Name
	}
	if obj, err := meta.Accessor(e.Regarding); err == nil {
		return obj.GetNamespace() + "/" + obj.GetName()
	}
	return fmt.Sprint(e.Regarding)
}

// numbered writes events under the names that the hub's API allows an agent.
type numbered struct {
	events.EventSink

	// number returns a number from 0 to n-1.
	number func(n int) int

	mu sync.Mutex
	// written maps the names that the recorder chose to those under which the events were written: the recorder uses
	// its own when it counts repetitions.
	written map[string]string
}

func newNumbered(sink events.EventSink) events.EventSink {
	return &numbered{EventSink: sink, number: rand.IntN, written: map[string]string{}}
}

// Create implements events.EventSink. An event that finds no free name is dropped: there are enough events of the
// last hour then.
func (n *numbered) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	given := event
	event = event.DeepCopy()
	for range namesTriedForOne {
		event.Name = contract.AgentEventName(n.number(contract.AgentEvents))
		n.note(given.Name, event.Name)
		out, err := n.EventSink.Create(ctx, event)
		if err != nil {
			n.forget(given.Name)
		}
		if !apierrors.IsAlreadyExists(err) {
			return out, err
		}
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Leaving out an event, because there were too many in the last hour", "reason", event.Reason)
	return given, nil
}

// Patch implements events.EventSink.
func (n *numbered) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	n.mu.Lock()
	name, ok := n.written[event.Name]
	n.mu.Unlock()
	if ok {
		event = event.DeepCopy()
		event.Name = name
	}
	return n.EventSink.Patch(ctx, event, data)
}

// note records the name under which an event was written. Only names of the last few minutes matter.
func (n *numbered) note(given, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.written) >= contract.AgentEvents {
		clear(n.written)
	}
	n.written[given] = name
}

func (n *numbered) forget(given string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.written, given)
}
