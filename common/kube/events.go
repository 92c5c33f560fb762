package kube

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Event is one sentence for people about one object. Stages build events as values
// and emit them after the write that they tell of.
type Event struct {
	// Regarding is the object; its kind must be set or known to the scheme. A
	// *corev1.ObjectReference serves too.
	Regarding runtime.Object
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is one word in UpperCamel, a constant.
	Reason string
	// Action is what was being done, one word in UpperCamel.
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
		recorder.Eventf(e.Regarding, nil, e.Type, e.Reason, e.Action, "%s", bounded(e.Note))
	}
}

// maxNote is the API's limit on the note of an event.
const maxNote = 1024

// bounded cuts a note to what the API accepts, at the boundary of a character.
func bounded(note string) string {
	if len(note) <= maxNote {
		return note
	}
	const more = " …"
	cut := maxNote - len(more)
	for cut > 0 && note[cut]&0xC0 == 0x80 {
		cut--
	}
	return note[:cut] + more
}
