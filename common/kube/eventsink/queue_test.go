package eventsink

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// sink records the written events. It blocks until open is closed, if set, and returns the configured errors.
type sink struct {
	open chan struct{}

	mu      sync.Mutex
	wrote   []string
	answers []error
}

func (s *sink) answer(format string, args ...any) error {
	if s.open != nil {
		<-s.open
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = append(s.wrote, fmt.Sprintf(format, args...))
	if len(s.answers) == 0 {
		return nil
	}
	err := s.answers[0]
	s.answers = s.answers[1:]
	return err
}

func (s *sink) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.wrote...)
}

func (s *sink) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	if e.Series != nil {
		return e, s.answer("create %s %d", e.Regarding.Name, e.Series.Count)
	}
	return e, s.answer("create %s", e.Regarding.Name)
}

func (s *sink) Update(context.Context, *eventsv1.Event) (*eventsv1.Event, error) {
	return nil, errors.New("nobody updates events")
}

func (s *sink) Patch(_ context.Context, e *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return e, s.answer("patch %s %s", e.Regarding.Name, data)
}

func about(name string) *eventsv1.Event {
	return &eventsv1.Event{Type: corev1.EventTypeNormal, Reason: "Happened", Regarding: corev1.ObjectReference{Kind: "Shop", Namespace: "shop", Name: name}}
}

// TestManyEventsTakeNoMoreThanTheirQueue emits events faster than the API accepts them, without blocking the callers.
func TestManyEventsTakeNoMoreThanTheirQueue(t *testing.T) {
	g := NewWithT(t)
	s := &sink{open: make(chan struct{})}
	q := newEventQueue(s, testclock.NewFakeClock(time.Unix(1000, 0)))
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- q.run(ctx) }()
	const many = 3 * eventLanes * eventsWaiting
	for i := range many {
		q.add(about(fmt.Sprint(i)))
	}
	g.Expect(runtime.NumGoroutine()-before).To(BeNumerically("<=", 2*eventLanes), "there is no goroutine for each event")
	lost := int(q.dropped.Load())
	g.Expect(lost).To(BeNumerically(">=", many-eventLanes*(eventsWaiting+1)))
	close(s.open)
	g.Eventually(func() int { return len(s.all()) }, "1m", "5ms").Should(Equal(many-lost), "what was not dropped is written")
	cancel()
	g.Expect(<-done).To(Succeed())
}

func TestEventsThatAreAlikeAreCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, clock := &sink{}, testclock.NewFakeClock(time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC))
	l := &eventLane{queue: newEventQueue(s, clock), series: map[seriesKey]*eventSeries{}}
	wrote := func() []string {
		out := s.all()
		s.wrote = nil
		return out
	}
	for range 5 {
		l.tell(t.Context(), about("a"))
	}
	g.Expect(wrote()).To(Equal([]string{"create a", `patch a {"series":{"count":2,"lastObservedTime":"2026-11-22T07:00:00.000000Z"}}`}))
	for range 31 {
		clock.Step(time.Minute)
		l.tell(t.Context(), about("a"))
		l.look(t.Context())
	}
	g.Expect(wrote()).To(Equal([]string{`patch a {"series":{"count":35,"lastObservedTime":"2026-11-22T07:30:00.000000Z"}}`}), "every half an hour")
	s.answers = []error{apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, "a")}
	clock.Step(seriesEnd)
	l.look(t.Context())
	g.Expect(wrote()).To(Equal([]string{`patch a {"series":{"count":36,"lastObservedTime":"2026-11-22T07:31:00.000000Z"}}`, "create a 36"}), "it was gone")
	g.Expect(l.series).To(BeEmpty())
	l.tell(t.Context(), about("a"))
	clock.Step(seriesEnd)
	l.tell(t.Context(), about("a"))
	g.Expect(wrote()).To(Equal([]string{"create a", "create a"}), "it ended in between")
	for i := range 2 * mostSeries {
		l.tell(t.Context(), about(fmt.Sprint(i)))
	}
	g.Expect(len(l.series)).To(BeNumerically("<=", mostSeries))
}

func TestAnEventIsTriedAgainIfTheAPIIsNotReached(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := testclock.NewFakeClock(time.Unix(1000, 0))
	s := &sink{answers: []error{errors.New("connection refused"), errors.New("connection refused")}}
	q := newEventQueue(s, clock)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- q.run(ctx) }()
	q.add(about("a"))
	g.Eventually(func() []string {
		if clock.HasWaiters() {
			clock.Step(2 * eventPause)
		}
		return s.all()
	}, "1m", "5ms").Should(Equal([]string{"create a", "create a", "create a"}))

	s.mu.Lock()
	s.answers = []error{apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "b", errors.New("no"))}
	s.mu.Unlock()
	q.add(about("b"))
	q.add(about("c"))
	g.Eventually(s.all, "1m", "5ms").Should(ContainElements("create b", "create c"))
	g.Consistently(s.all, "100ms", "5ms").Should(HaveLen(5), "what the API answers is final")
	cancel()
	g.Expect(<-done).To(Succeed())
}
