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
	"fairlead.dev/common/kube"
)

// How many events the agent writes: in one go, and then by and by, about one object and about
// all. In an hour, for which the hub keeps them, these are about half of the names that
// contract.AgentEvents has for them.
const (
	eventsOfOne      = 25
	eventsOfOneRate  = 1. / 300
	eventsOfAll      = 100
	eventsOfAllRate  = 1. / 8
	objectsInMind    = 4096
	namesTriedForOne = 8
)

// eventSink returns what writes the events of the agent: not too many, and under the names that
// the hub's API allows.
func eventSink(recorder events.EventRecorder, all bool, c clock.PassiveClock) kube.EventSink {
	l := &eventLimit{
		sink: kube.NewEventSink(recorder, all), all: all, clock: c,
		whole: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(eventsOfAllRate, eventsOfAll, c),
		byOne: map[string]flowcontrol.PassiveRateLimiter{},
	}
	return l.tell
}

// eventLimit leaves events out when there are too many, and says so in the next.
type eventLimit struct {
	sink  kube.EventSink
	all   bool
	clock clock.PassiveClock

	mu    sync.Mutex
	whole flowcontrol.PassiveRateLimiter
	byOne map[string]flowcontrol.PassiveRateLimiter
	// left is how many were left out since the last that was not.
	left int
}

func (l *eventLimit) tell(e kube.Event) {
	if e.Detail && !l.all {
		return
	}
	left, ok := l.take(e)
	if !ok {
		return
	}
	if left > 0 {
		e.Note = fmt.Sprintf("%s (%d events before this one were left out, since there were too many; the conditions of the Works say how they are)", e.Note, left)
	}
	l.sink(e)
}

// take says whether an event may be written, and how many were left out before it.
func (l *eventLimit) take(e kube.Event) (left int, ok bool) {
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

// objectOf tells the objects of events apart.
func objectOf(e kube.Event) string {
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

	// number returns one from 0 to n-1.
	number func(n int) int

	mu sync.Mutex
	// written are the names under which events are, by those that the recorder gave them: it goes
	// on by its own when it counts how often something happens again.
	written map[string]string
}

func newNumbered(sink events.EventSink) events.EventSink {
	return &numbered{EventSink: sink, number: rand.IntN, written: map[string]string{}}
}

// Create implements events.EventSink. What finds no free name is left out: these are events of
// the last hour, of which there are more than enough.
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
	ctrl.LoggerFrom(ctx).V(1).Info("Leaving out an event, since there are too many of the last hour", "reason", event.Reason)
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

// note remembers under which name an event is. The oldest that matters is of a few minutes ago.
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
