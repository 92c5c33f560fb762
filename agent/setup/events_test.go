package setup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// notes is a recorder that remembers what was told.
type notes []string

func (n *notes) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	*n = append(*n, fmt.Sprintf(note, args...))
}

func about(work, note string) kube.Event {
	return kube.Event{Regarding: &corev1.ObjectReference{Namespace: "karmada-es-edge", Name: work}, Note: note}
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
	tell(kube.Event{Regarding: about("other", "").Regarding, Note: "a detail", Detail: true})
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

// shelf is a sink with the events that it has, by name.
type shelf struct {
	events.EventSink
	has map[string]bool
}

func (s shelf) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	if s.has[e.Name] {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, e.Name)
	}
	s.has[e.Name] = true
	return e, nil
}

func TestTheEventsOfAnAgentHaveTheNamesThatItMayUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, next := shelf{has: map[string]bool{}}, 0
	n := numbered{EventSink: s, number: func(int) int { next++; return next % 4 }}
	event := &eventsv1.Event{}
	event.Name = "web.17a"
	for range 3 {
		out, err := n.Create(t.Context(), event)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.has).To(HaveKey(out.Name), "what changes it later finds it by that name")
	}
	g.Expect(s.has).To(HaveLen(3))
	next = 0
	_, err := n.Create(t.Context(), event)
	g.Expect(err).NotTo(HaveOccurred(), "it finds the fourth")
	_, err = n.Create(t.Context(), event)
	g.Expect(err).NotTo(HaveOccurred(), "it is left out")
	g.Expect(s.has).To(HaveLen(4))
	for name := range s.has {
		g.Expect(strings.HasPrefix(name, "agent-00")).To(BeTrue(), name)
	}
}
