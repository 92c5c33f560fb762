package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/hub/people/view"
)

// object identifies the object of events.
type object struct{ kind, name string }

// eventList is the data of an object's events.
type eventList struct {
	Events []corev1.Event
	// Denied says what the person may not read, and Missing what was not read.
	Denied, Missing string
}

// maxEvents is how many events are shown. The API server returns them by name, so all must be read to find the newest,
// eventsAtOnce at a time. If there are more than maxEventsPages pages, the person is told so.
const (
	maxEvents      = 40
	eventsAtOnce   = 500
	maxEventsPages = 20
)

// eventsAbout reads the latest events about objects of a namespace, as the person. It reports what may not be read.
func (s *Server) eventsAbout(ctx context.Context, v *visit, namespace string, objects ...object) eventList {
	var out eventList
	for _, o := range objects {
		next := ""
		for page := 0; ; page++ {
			var list corev1.EventList
			err := v.user.Hub.List(ctx, &list, client.InNamespace(namespace), client.Limit(eventsAtOnce), client.Continue(next),
				client.MatchingFields{"involvedObject.kind": o.kind, "involvedObject.name": o.name})
			if err != nil {
				out.Denied = fmt.Sprintf("Events in namespace %s cannot be shown: %s.", namespace, strings.TrimSuffix(err.Error(), "."))
				return out
			}
			out.Events = newest(append(out.Events, list.Items...))
			if next = list.Continue; next == "" {
				break
			}
			if page == maxEventsPages {
				out.Missing = fmt.Sprintf("There are too many events about %s %s to read all of them: newer ones may be missing here.", o.kind, o.name)
				break
			}
		}
	}
	return out
}

// newest returns the events to show, the newest first.
func newest(events []corev1.Event) []corev1.Event {
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return view.EventTime(&b).Compare(view.EventTime(&a)) })
	return slices.Clone(events[:min(len(events), maxEvents)])
}
