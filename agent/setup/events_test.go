package setup

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// notes is an event recorder that keeps the messages.
type notes []string

func (n *notes) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	*n = append(*n, fmt.Sprintf(note, args...))
}

func about(work, note string) eventsink.Event {
	return eventsink.Event{Regarding: &corev1.ObjectReference{Namespace: "karmada-es-edge", Name: work}, Note: note}
}

func TestAnAgentWritesNotTooManyEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told, c := &notes{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	tell := eventSink(told, false, c)
	for i := range 500 {
		tell(about("busy", fmt.Sprint(i)))
	}
	g.Expect(*told).To(HaveLen(eventsOfOne))
	tell(eventsink.Event{Regarding: about("other", "").Regarding, Note: "a detail", Detail: true})
	tell(about("other", "Others are heard."))
	g.Expect((*told)[eventsOfOne]).To(And(HavePrefix("Others are heard. (475 events before this one were left out"), ContainSubstring("Works")))
	tell(about("other", "Said once."))
	g.Expect((*told)[eventsOfOne+1]).To(Equal("Said once."))

	for i := range 10_000 {
		tell(about(fmt.Sprint("work-", i), "all at once"))
	}
	g.Expect(len(*told)).To(BeNumerically("<=", eventsOfAll))
	for range 3600 {
		c.SetTime(c.Now().Add(time.Second))
		for i := range 3 {
			tell(about(fmt.Sprint("work-", i, c.Now()), "for an hour"))
		}
	}
	g.Expect(len(*told)).To(BeNumerically("<", contract.AgentEvents*6/10), "there are names for all of them")
}

// shelf is a sink with the events that it has, by name, and how often each was changed.
type shelf struct {
	events.EventSink

	mu  sync.Mutex
	has map[string]int
}

func newShelf() *shelf { return &shelf{has: map[string]int{}} }

func (s *shelf) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.has[e.Name]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, e.Name)
	}
	s.has[e.Name] = 0
	return e, nil
}

func (s *shelf) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.has[e.Name]; !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, e.Name)
	}
	s.has[e.Name]++
	return e, nil
}

func (s *shelf) all() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.has)
}

// counting makes a sink that takes the numbers from 0 to 3 in turn.
func counting(sink events.EventSink) *numbered {
	next := -1
	return &numbered{EventSink: sink, number: func(int) int { next++; return next % 4 }, written: map[string]string{}}
}

func TestTheEventsOfAnAgentHaveTheNamesThatItMayUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newShelf()
	n := counting(s)
	event := &eventsv1.Event{}
	for i := range 5 {
		event.Name = fmt.Sprint("web.", i)
		_, err := n.Create(t.Context(), event)
		g.Expect(err).NotTo(HaveOccurred(), "the last is left out")
	}
	g.Expect(s.all()).To(And(HaveLen(4), HaveKey("agent-000"), HaveKey("agent-003")))
	_, err := n.Patch(t.Context(), event, nil)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "what was left out is no other's")
}

// What happens again is counted on the event that there is, and makes no other.
func TestARepeatedEventIsCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	s := newShelf()
	broadcaster := events.NewBroadcaster(counting(s))
	g.Expect(broadcaster.StartRecordingToSinkWithContext(t.Context())).To(Succeed())
	recorder := broadcaster.NewRecorder(scheme, "agent")
	web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge", Name: "web"}}
	for times := range 2 {
		recorder.Eventf(web, nil, corev1.EventTypeWarning, "Told", "Tell", "It happened.")
		g.Eventually(s.all).WithTimeout(time.Minute).Should(Equal(map[string]int{"agent-000": times}))
	}
}
