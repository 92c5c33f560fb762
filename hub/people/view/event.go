package view

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/hub/people/view/applications"
)

// Event is a Kubernetes event as people see it.
type Event struct {
	At time.Time `json:"at"`
	// Warning says that the event is a warning.
	Warning bool `json:"warning"`
	// Object is the object that the event is about.
	Object Object `json:"object"`
	// Cluster is the cluster concerned; empty for none or all.
	Cluster string `json:"cluster,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Count is how often it has happened.
	Count int32 `json:"count"`
	// By is the controller that reported the event.
	By string `json:"by,omitempty"`
}

// Object identifies the object of an event.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the kind and name for people.
func (o Object) String() string {
	return applications.Template{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.String()
}

// eventsFrom converts events, the oldest first. clusterOf returns the cluster that an object concerns.
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

// sortEvents sorts events by time.
func sortEvents(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Reason, b.Reason))
	})
}

// EventTime returns when an event last happened.
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
