package view

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/hub/people/view/applications"
)

// Event is something that happened.
type Event struct {
	At time.Time `json:"at"`
	// Warning says that somebody should look at it.
	Warning bool `json:"warning"`
	// Object is the object that the event is about.
	Object Object `json:"object"`
	// Cluster it is about; empty if it is about none or all.
	Cluster string `json:"cluster,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Count is how often it happened up to then.
	Count int32 `json:"count"`
	// By is the controller that reported the event.
	By string `json:"by,omitempty"`
}

// Object names what an event is about.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is how people write it.
func (o Object) String() string {
	return applications.Template{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.String()
}

// eventsFrom returns what events tell, the oldest first. clusterOf says which cluster an object is
// about; nothing is changed.
func eventsFrom(events []corev1.Event, clusterOf func(Object) string) []Event {
	out := make([]Event, 0, len(events))
	for i := range events {
		e := &events[i]
		on := Object{Kind: e.InvolvedObject.Kind, Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
		out = append(out, Event{
			At: EventTime(e), Warning: e.Type == corev1.EventTypeWarning, Object: on, Cluster: clusterOf(on),
			Reason: e.Reason, Message: e.Message, Count: count(e), By: cmp.Or(e.ReportingController, e.Source.Component),
		})
	}
	sortEvents(out)
	return out
}

// sortEvents orders events as they happened.
func sortEvents(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Reason, b.Reason))
	})
}

// EventTime is when an event happened last.
func EventTime(e *corev1.Event) time.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time} {
		if !t.IsZero() {
			return t
		}
	}
	return e.CreationTimestamp.Time
}

func count(e *corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Series.Count, 1)
	}
	return max(e.Count, 1)
}
