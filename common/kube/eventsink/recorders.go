package eventsink

import (
	"context"
	"fmt"
	"os"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/kube"
)

// NewRecorders returns a constructor of a manager's event recorders, by the name of the reporting component. They
// write while the manager runs; a full queue drops events, and there is no goroutine per recorder. wrap, if it is not
// nil, may modify what is written.
func NewRecorders(mgr manager.Manager, wrap func(events.EventSink) events.EventSink) (func(name string) events.EventRecorder, error) {
	c, err := eventsclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	var sink events.EventSink = &events.EventSinkImpl{Interface: c}
	if wrap != nil {
		sink = wrap(sink)
	}
	queue := newEventQueue(eventWriter{sink}, clock.RealClock{})
	if err := mgr.Add(manager.RunnableFunc(queue.run)); err != nil {
		return nil, fmt.Errorf("starting to write events: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the name of this host, which events tell: %w", err)
	}
	return func(name string) events.EventRecorder {
		return &eventRecorder{scheme: mgr.GetScheme(), controller: name, instance: name + "-" + host, queue: queue}
	}, nil
}

// eventRecorder queues the events of one component.
type eventRecorder struct {
	scheme               *runtime.Scheme
	controller, instance string
	queue                *eventQueue
}

// Eventf implements events.EventRecorder. It does not block.
func (r *eventRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	ref, err := reference.GetReference(r.scheme, regarding)
	if err != nil {
		ctrl.Log.Error(err, "Dropping an event about an object of a kind that is not known", "reason", reason)
		return
	}
	now := r.queue.clock.Now()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: util.GenerateEventName(ref.Name, now.UnixNano())},
		EventTime:  metav1.MicroTime{Time: now}, Type: eventtype, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...),
		ReportingController: r.controller, ReportingInstance: r.instance, Regarding: *ref,
	}
	if event.Namespace == "" {
		event.Namespace = metav1.NamespaceDefault
	}
	if related != nil {
		if event.Related, err = reference.GetReference(r.scheme, related); err != nil {
			ctrl.Log.V(1).Info("Leaving out what an event is about as well, it is of a kind that is not known", "reason", reason)
		}
	}
	r.queue.add(event)
}

// eventWriter writes events. An event in a namespace that is gone or terminating is dropped without an error.
type eventWriter struct{ events.EventSink }

// Create implements events.EventSink.
func (w eventWriter) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	out, err := w.EventSink.Create(ctx, event)
	if apierrors.IsNotFound(err) || kube.IsNamespaceEnding(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("Dropping an event, its namespace is gone", "namespace", event.Namespace, "reason", event.Reason)
		return event, nil
	}
	return out, err
}
