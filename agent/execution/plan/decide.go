package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/contract"
)

// Presence is what is known about a live object.
type Presence int

// Values of Presence.
const (
	// Unknown means that the member has to be asked.
	Unknown Presence = iota
	// Absent means that the member was asked and has no such object.
	Absent
	// Present means that the object has been read.
	Present
	// Held means that the object has not been read, but nothing indicates that it differs from our last apply.
	Held
)

// Live is a live object or its absence.
type Live struct {
	Presence Presence
	// Object is set if and only if Presence is Present.
	Object *unstructured.Unstructured
}

// Found returns the Live for the result of a read; nil means that there is no object.
func Found(obj *unstructured.Unstructured) Live {
	if obj == nil {
		return Live{Presence: Absent}
	}
	return Live{Presence: Present, Object: obj}
}

// recordTrust is how long a record outweighs an informer that lacks the object. After that, the informer is not
// lagging: it missed something, or may not list at all.
const recordTrust = time.Minute

// Vouches returns for how much longer a record outweighs an informer that lacks the object.
func (r *Record) Vouches(now time.Time) time.Duration { return max(recordTrust-now.Sub(r.At), 0) }

// See weighs what the informer of managed objects shows against the record of our last apply. The informer may lag
// behind our own writes, and it does not show objects without our label: an object that it lacks may still exist.
// Before its first sync it shows none.
func See(seen *unstructured.Unstructured, record *Record, now time.Time) Live {
	switch {
	case seen == nil && record != nil && record.Vouches(now) > 0:
		return Live{Presence: Held}
	case seen == nil:
		return Live{Presence: Unknown}
	case record != nil && record.UID == seen.GetUID() && contract.Older(seen.GetResourceVersion(), record.ResourceVersion):
		return Live{Presence: Held}
	default:
		return Live{Presence: Present, Object: seen}
	}
}

// Action is what to do about a manifest.
type Action int

// Values of Action.
const (
	// Read means that the object is to be read from the member, and the decision made again.
	Read Action = iota
	// Apply means that the object is to be sent.
	Apply
	// Skip means that the object is already as desired.
	Skip
	// Wait means that the object is being deleted and will be created again, or is newer than the manifest.
	Wait
	// Refuse means that the object is not ours to change.
	Refuse
)

// Decision is what to do about a manifest, and why.
type Decision struct {
	Action Action
	// Drift says that the object was as desired before, and somebody may have changed it.
	Drift bool
	// Message is a sentence, for Wait and Refuse.
	Message string
	// Older says that a manifest waits because it is older than the member's object; this is not reported.
	Older bool
}

// Decide decides about a manifest without a Problem. The record is nil if this process has not applied the object.
func Decide(work types.NamespacedName, m Manifest, live Live, record *Record) Decision {
	unchanged := record != nil && record.Manifest == m.Digest
	switch live.Presence {
	case Held:
		if unchanged {
			return Decision{Action: Skip}
		}
		return Decision{Action: Read}
	case Absent:
		return Decision{Action: Apply, Drift: unchanged}
	case Present:
	case Unknown:
		return Decision{Action: Read}
	default:
		return Decision{Action: Read}
	}

	switch ownerOf(live.Object, work) {
	case another:
		if unchanged && record.UID == live.Object.GetUID() {
			break // it is the object that we applied, with another Work's name written on it
		}
		return Decision{Action: Refuse, Message: anotherMessage(live.Object, work)}
	case nobody:
		if !m.Overwrite {
			return Decision{Action: Refuse, Message: fmt.Sprintf(
				"the object already exists in the member and is not managed; delete it there, or set conflictResolution: Overwrite in the policy that selects it (annotation %s: %s)",
				contract.ConflictResolutionAnnotation, contract.ConflictOverwrite)}
		}
	case ours:
		if m.Kept && isOfLaterTemplate(live.Object, m.Desired) {
			return Decision{Action: Wait, Message: laterMessage, Older: true}
		}
	}
	if live.Object.GetDeletionTimestamp() != nil {
		return Decision{Action: Wait, Message: leavingMessage(live.Object)}
	}
	if unchanged && record.UID == live.Object.GetUID() && bears(live.Object, m.Desired) &&
		(record.keeps(live.Object) || record.Content == Content(live.Object)) {
		return Decision{Action: Skip}
	}
	return Decision{Action: Apply, Drift: unchanged}
}

// anotherMessage explains whose an object is, and what to do.
func anotherMessage(live *unstructured.Unstructured, work types.NamespacedName) string {
	named, _ := WorkOf(live)
	message := fmt.Sprintf("the object in the member belongs to Work %s; remove it there, or remove this object from the policy that placed it", named)
	if named.Namespace == work.Namespace {
		return message
	}
	return message + fmt.Sprintf(". That Work is of another cluster or another hub: if this member had that name or hub before, and nobody manages the object there any more, "+
		"remove the annotations %s and %s from the object, and this agent takes it over", contract.WorkNamespaceAnnotation, contract.WorkNameAnnotation)
}

// laterMessage says that an outdated journal must not undo what the hub has sent since.
const laterMessage = "the object in the member is of a later generation of its template than the journal has; it is left as it is until the hub can be reached"

// isOfLaterTemplate returns whether a live object was rendered from a later generation of the same template than the
// desired one.
func isOfLaterTemplate(live, desired *unstructured.Unstructured) bool {
	has, wants := live.GetAnnotations(), desired.GetAnnotations()
	if uid := wants[contract.TemplateUIDAnnotation]; uid == "" || has[contract.TemplateUIDAnnotation] != uid {
		return false
	}
	later, err := strconv.ParseInt(has[contract.TemplateGenerationAnnotation], 10, 64)
	if err != nil {
		return false
	}
	of, err := strconv.ParseInt(wants[contract.TemplateGenerationAnnotation], 10, 64)
	return err == nil && later > of
}

// leavingMessage says that an object has to be deleted first, and what holds it.
func leavingMessage(live *unstructured.Unstructured) string {
	const message = "the object is being deleted in the member; it is created again once it is gone"
	finalizers := live.GetFinalizers()
	if len(finalizers) == 0 {
		return message
	}
	return message + " (its finalizers hold it: " + strings.Join(finalizers, ", ") + ")"
}

// bears returns whether an object has every label and annotation of another.
func bears(live, desired *unstructured.Unstructured) bool {
	return covers(live.GetLabels(), desired.GetLabels()) && covers(live.GetAnnotations(), desired.GetAnnotations())
}

func covers(have, want map[string]string) bool {
	for key, value := range want {
		if got, ok := have[key]; !ok || got != value {
			return false
		}
	}
	return true
}
