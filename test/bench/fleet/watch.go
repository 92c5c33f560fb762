package main

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// takeEvents passes events on until the watch ends, and returns the last resourceVersion.
func takeEvents(w watch.Interface, version string, take func(watch.EventType, client.Object)) (string, error) {
	defer w.Stop()
	for event := range w.ResultChan() {
		obj, ok := event.Object.(client.Object)
		if !ok {
			return version, endOf(event)
		}
		version = obj.GetResourceVersion()
		take(event.Type, obj)
	}
	return version, nil
}

// watchAgain resumes a watch that ended: the server ends watches that do not keep up, and connections break. No write
// must be missed.
func (s *system) watchAgain(ctx context.Context, list client.ObjectList, version string) (watch.Interface, error) {
	for {
		w, err := s.hubClient.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
		if err == nil || isOver(err) {
			return w, err //nolint:wrapcheck // The caller says what it was for.
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// isOver reports whether the server no longer has the events after a resourceVersion.
func isOver(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// endOf returns the error of an event after which the watch cannot resume; nil if it can.
func endOf(event watch.Event) error {
	if err := apierrors.FromObject(event.Object); isOver(err) {
		return err //nolint:wrapcheck // The caller says what it was for.
	}
	return nil
}
