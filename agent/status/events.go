package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
)

// Reasons of the events about Works.
const (
	reasonSyncSucceed            = "SyncSucceed"
	reasonSyncFailed             = "SyncFailed"
	reasonWorkDispatching        = "WorkDispatching"
	reasonReflectStatusSucceed   = "ReflectStatusSucceed"
	reasonReflectStatusFailed    = "ReflectStatusFailed"
	reasonInterpretHealthSucceed = "InterpretHealthSucceed"
	reasonInterpretHealthFailed  = "InterpretHealthFailed"
)

// Actions of the events.
const (
	actionApply     = "Apply"
	actionDispatch  = "Dispatch"
	actionReflect   = "ReflectStatus"
	actionInterpret = "InterpretHealth"
)

// conditionEvents returns events for the changes of a Work's conditions.
func (r *Reporter) conditionEvents(before, after []metav1.Condition, work types.NamespacedName) []eventsink.Event {
	var events []eventsink.Event
	was, is := meta.FindStatusCondition(before, workv1alpha1.WorkDispatching), meta.FindStatusCondition(after, workv1alpha1.WorkDispatching)
	if is != nil && (was == nil || was.Status != is.Status) {
		events = append(events, eventsink.Event{
			Type: corev1.EventTypeNormal, Reason: reasonWorkDispatching, Action: actionDispatch, Note: is.Message, Detail: true,
		})
	}
	was, is = meta.FindStatusCondition(before, workv1alpha1.WorkApplied), meta.FindStatusCondition(after, workv1alpha1.WorkApplied)
	switch {
	case is == nil || was != nil && *was == *is:
	case is.Status == metav1.ConditionTrue:
		events = append(events, eventsink.Event{
			Type: corev1.EventTypeNormal, Reason: reasonSyncSucceed, Action: actionApply, Detail: true,
			Note: fmt.Sprintf("Sync work(%s) to cluster(%s) successful.", work, r.cluster),
		})
	case was == nil || was.Message != is.Message:
		events = append(events, eventsink.Event{
			Type: corev1.EventTypeWarning, Reason: reasonSyncFailed, Action: actionApply,
			Note: fmt.Sprintf("Failed to sync work(%s) to cluster(%s), err: %s", work, r.cluster, is.Message),
		})
	}
	return events
}

func reflectEvent(live *unstructured.Unstructured, err error) eventsink.Event {
	if err != nil {
		return eventsink.Event{
			Type: corev1.EventTypeWarning, Reason: reasonReflectStatusFailed, Action: actionReflect,
			Note: fmt.Sprintf("Reflect status for object(%s) failed, err: %v.", describe(live), err),
		}
	}
	return eventsink.Event{
		Type: corev1.EventTypeNormal, Reason: reasonReflectStatusSucceed, Action: actionReflect, Detail: true,
		Note: fmt.Sprintf("Reflect status for object(%s) succeed.", describe(live)),
	}
}

func healthEvent(live *unstructured.Unstructured, health workv1alpha1.ResourceHealth, err error) eventsink.Event {
	switch {
	case err != nil:
		return eventsink.Event{
			Type: corev1.EventTypeWarning, Reason: reasonInterpretHealthFailed, Action: actionInterpret,
			Note: fmt.Sprintf("Interpret health of object(%s) failed, err: %v.", describe(live), err),
		}
	case health == workv1alpha1.Healthy:
		return eventsink.Event{
			Type: corev1.EventTypeNormal, Reason: reasonInterpretHealthSucceed, Action: actionInterpret, Detail: true,
			Note: fmt.Sprintf("Interpret health of object(%s) as healthy.", describe(live)),
		}
	default:
		return eventsink.Event{
			Type: corev1.EventTypeNormal, Reason: reasonInterpretHealthSucceed, Action: actionInterpret, Detail: true,
			Note: fmt.Sprintf("Interpret health of object(%s) as unhealthy.", describe(live)),
		}
	}
}

// tell returns an event, unless the last one about the same object and action had the same note.
func (f *facts) tell(live *unstructured.Unstructured, event eventsink.Event) []eventsink.Event {
	about := event.Action + " " + describe(live)
	if f.lastNotes[about] == event.Note {
		return nil
	}
	f.lastNotes[about] = event.Note
	return []eventsink.Event{event}
}

// describe names an object as the events of this API do.
func describe(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return obj.GetKind() + "/" + obj.GetName()
	}
	return obj.GetKind() + "/" + obj.GetNamespace() + "/" + obj.GetName()
}
