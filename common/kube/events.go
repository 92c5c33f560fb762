package kube

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"fairlead.dev/common/prose"
)

// Event is one sentence for people about one object. Stages build events as values
// and emit them after the write that they tell of.
type Event struct {
	// Regarding is the object; its kind must be set or known to the scheme. A
	// *corev1.ObjectReference serves too.
	Regarding runtime.Object
	// Related is a second object that the event is about, such as the cluster that is left, or the object that holds the decision; nil if
	// there is none. Of events that differ in nothing but the note, the API counts the second within six minutes as a repetition and keeps
	// the first note; a Related object of another version tells them apart.
	Related runtime.Object
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is one word in UpperCamel, a constant.
	Reason string
	// Action is the action in progress, one word in UpperCamel.
	Action string
	// Note is the sentence.
	Note string
	// Detail marks an event that is emitted only with --events=all.
	Detail bool
}

// EventSink emits events. It may be called by many goroutines and never blocks.
type EventSink func(Event)

// NewEventSink returns a sink for the events of one stage; all says whether details
// are emitted too.
func NewEventSink(recorder events.EventRecorder, all bool) EventSink {
	return func(e Event) {
		if e.Detail && !all {
			return
		}
		recorder.Eventf(e.Regarding, e.Related, e.Type, e.Reason, e.Action, "%s", prose.Cut(e.Note, prose.OfEvent))
	}
}
