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

// Presence is what is known of a live object.
type Presence int

// Values of Presence.
const (
	// Unknown : the member has to be asked.
	Unknown Presence = iota
	// Absent : the member was asked and has no such object.
	Absent
	// Present : the object is at hand.
	Present
	// Held : the object itself is not at hand, but nothing says that it is not as our
	// last apply left it.
	Held
)

// Live is a live object, or that there is none.
type Live struct {
	Presence Presence
	// Object is set if and only if Presence is Present.
	Object *unstructured.Unstructured
}

// Found returns the Live of an object that was asked for; nil says that there is none.
func Found(obj *unstructured.Unstructured) Live {
	if obj == nil {
		return Live{Presence: Absent}
	}
	return Live{Presence: Present, Object: obj}
}

// recordTrust is for how long a record outweighs an informer that does not have the
// object: after that the informer is not behind, it missed something, or may not list at all.
const recordTrust = time.Minute

// Vouches returns for how long a record still outweighs an informer that does not have the object.
func (r *Record) Vouches(now time.Time) time.Duration { return max(recordTrust-now.Sub(r.At), 0) }

// See weighs what the informer of managed objects says against what we remember.
// The informer may be behind our own writes, and it knows no objects without our label:
// what it does not have may still exist. Before it has seen all objects it has none.
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
	// Read : ask the member for the object and decide again.
	Read Action = iota
	// Apply : send the object.
	Apply
	// Skip : the object is as it should be.
	Skip
	// Wait : the object is being deleted and will be made anew, or is newer than the manifest.
	Wait
	// Refuse : the object is not ours to change.
	Refuse
)

// Decision is what to do about a manifest, and why.
type Decision struct {
	Action Action
	// Drift says that the object was as it should be and somebody may have changed that.
	Drift bool
	// Message is a sentence for Wait and Refuse.
	Message string
	// Older says that what waits is older than what the member has: it tells nobody anything.
	Older bool
}

// Decide says what to do about a manifest that has no Problem. The record is nil if the
// object was not applied by this process.
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
			break // it is the one that we applied, and somebody wrote another name on it
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

// anotherMessage says whose an object is, and what to do.
func anotherMessage(live *unstructured.Unstructured, work types.NamespacedName) string {
	named, _ := WorkOf(live)
	message := fmt.Sprintf("the object in the member belongs to Work %s; remove it there, or take this one out of the policy that placed it", named)
	if named.Namespace == work.Namespace {
		return message
	}
	return message + fmt.Sprintf(". That is of another cluster, or of another hub: if this member was that one before, and nobody looks after it there any more, "+
		"remove the annotations %s and %s from the object, and it is taken over", contract.WorkNamespaceAnnotation, contract.WorkNameAnnotation)
}

// laterMessage says that the journal, which could not be written for a while, is not to undo what the hub said since.
const laterMessage = "the object in the member is of a later generation of its template than the journal has; it is left as it is until the hub was heard"

// isOfLaterTemplate says whether an object was made of a later generation of the template of which another one is.
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

// leavingMessage says that an object has to go first, and what holds it.
func leavingMessage(live *unstructured.Unstructured) string {
	const message = "the object is being deleted in the member; it is made anew once it is gone"
	finalizers := live.GetFinalizers()
	if len(finalizers) == 0 {
		return message
	}
	return message + " (its finalizers hold it: " + strings.Join(finalizers, ", ") + ")"
}

// bears says whether an object has every label and annotation of another.
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
