package eventsink

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"fairlead.dev/common/prose"
)

// Event is a message for people about one object. Stages build events as values and emit them after the write that
// they report.
type Event struct {
	// Regarding is the object; its kind must be set or known to the scheme. It may also be a *corev1.ObjectReference.
	Regarding runtime.Object
	// Related is a second object that the event is about, such as the cluster that is left, or the object that holds
	// the decision; nil if there is none. If events differ only in the note, the API counts the second within six
	// minutes as a repetition and keeps the first note; a Related object with another resourceVersion makes them
	// different.
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

// Sink emits events. It is safe for concurrent use and never blocks.
type Sink func(Event)

// New returns a Sink for the events of one stage; with all it emits details, too.
func New(recorder events.EventRecorder, all bool) Sink {
	return func(e Event) {
		if e.Detail && !all {
			return
		}
		recorder.Eventf(e.Regarding, e.Related, e.Type, e.Reason, e.Action, "%s", prose.Cut(e.Note, prose.OfEvent))
	}
}
