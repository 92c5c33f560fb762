package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// NewEventRecorders returns what makes the event recorders of a manager, by the name of who
// tells. They write while the manager runs; a queue that is full drops events. Wrap, if it is
// not nil, may change what is written.
func NewEventRecorders(mgr manager.Manager, wrap func(events.EventSink) events.EventSink) (func(name string) events.EventRecorder, error) {
	c, err := eventsclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	var sink events.EventSink = &events.EventSinkImpl{Interface: c}
	if wrap != nil {
		sink = wrap(sink)
	}
	broadcaster := events.NewBroadcaster(eventWriter{sink})
	// It is never shut down: who tells something while the manager stops would panic.
	if err := mgr.Add(manager.RunnableFunc(broadcaster.StartRecordingToSinkWithContext)); err != nil {
		return nil, fmt.Errorf("starting to write events: %w", err)
	}
	return func(name string) events.EventRecorder { return broadcaster.NewRecorder(mgr.GetScheme(), name) }, nil
}

// eventWriter writes events. One whose namespace is gone, or is about to go, goes with it:
// that is no error.
type eventWriter struct{ events.EventSink }

// Create implements events.EventSink.
func (w eventWriter) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	out, err := w.EventSink.Create(ctx, event)
	if apierrors.IsNotFound(err) || namespaceEnds(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("Dropping an event, its namespace is gone", "namespace", event.Namespace, "reason", event.Reason)
		return event, nil
	}
	return out, err
}

// namespaceEnds says whether an object could not be made because its namespace is about to
// go.
func namespaceEnds(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
