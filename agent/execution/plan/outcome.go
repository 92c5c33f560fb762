package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/prose"
)

// Result is the result of applying one manifest.
type Result int

// Values of Result.
const (
	// Applied means that the object in the member is as desired.
	Applied Result = iota
	// Waiting means that something is missing that may appear by itself, such as the namespace.
	Waiting
	// Refused means that it cannot be applied as things are.
	Refused
	// Unanswered means that the member did not answer. Nothing new is known.
	Unanswered
	// Throttled means that somebody in the member changes the object again and again, and it is corrected only after
	// a pause.
	Throttled
)

// Outcome is the result of one manifest, with the reason.
type Outcome struct {
	Ordinal int
	Object  Object
	Result  Result
	// Message is a sentence; empty if Applied.
	Message string
}

// Messages of the conditions.
const (
	appliedMessage   = "Manifest has been successfully applied"
	dispatchMessage  = "Work is being dispatched to member clusters."
	suspendedMessage = "Work dispatching is in a suspended state."
	// ThrottledMessage explains why an object is not as desired.
	ThrottledMessage  = "somebody in the member keeps changing it, so it is put back only after a pause; find out who (status.drift of this Work names them) and stop them"
	noManifestMessage = "The Work has no manifests: there is nothing to apply"
	// failedFormat begins the message that lists the failed manifests, and between separates them. Told parses them.
	failedFormat = "Failed to apply all manifests (%d/%d): "
	between      = "; "
)

// Condition aggregates the outcomes of a Work into its condition Applied.
func Condition(outcomes []Outcome) metav1.Condition {
	failed := slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return o.Result == Applied })
	if len(failed) == 0 {
		message := appliedMessage
		if len(outcomes) == 0 {
			message = noManifestMessage
		}
		return metav1.Condition{
			Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue,
			Reason: workv1alpha1.ReasonAppliedSuccessful, Message: message,
		}
	}
	slices.SortFunc(failed, func(a, b Outcome) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	sentences := make([]string, 0, len(failed))
	for _, o := range failed {
		sentences = append(sentences, sentence(o))
	}
	return metav1.Condition{
		Type: workv1alpha1.WorkApplied, Status: metav1.ConditionFalse,
		Reason:  workv1alpha1.ReasonAppliedFailed,
		Message: prose.Cut(fmt.Sprintf(failedFormat, len(outcomes)-len(failed), len(outcomes))+strings.Join(sentences, between), prose.OfCondition),
	}
}

// Dispatching returns the condition that says whether the agent acts on a Work.
func Dispatching(suspended bool) metav1.Condition {
	if suspended {
		return metav1.Condition{
			Type: workv1alpha1.WorkDispatching, Status: metav1.ConditionFalse,
			Reason: workv1alpha1.ReasonSuspendDispatching, Message: suspendedMessage,
		}
	}
	return metav1.Condition{
		Type: workv1alpha1.WorkDispatching, Status: metav1.ConditionTrue,
		Reason: workv1alpha1.ReasonDispatching, Message: dispatchMessage,
	}
}

// sentence prefixes an outcome's message with its manifest.
func sentence(o Outcome) string {
	if o.Object.Kind == "" || o.Object.Name == "" {
		return fmt.Sprintf("manifest %d: %s", o.Ordinal, o.Message)
	}
	return o.Object.String() + ": " + o.Message
}

// Pending returns whether any outcome waits for something that may appear by itself.
func Pending(outcomes []Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Result == Waiting || o.Result == Unanswered })
}

// ShouldReport returns whether to report outcomes. late says that there were enough attempts for anything that
// appears within a moment. reported says that this generation of the Work was reported before: then the member's
// silence about some manifests takes nothing back and hides no outcome of the others. A member that does not answer
// at all is reported once, in its Cluster, not in each Work.
func ShouldReport(outcomes []Outcome, late, reported bool) bool {
	if !Pending(outcomes) {
		return true
	}
	failed := slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Result == Waiting || o.Result == Refused || o.Result == Throttled })
	return late && (!reported || failed)
}

// Settled returns whether no manifest needs an early retry: each was applied, or is throttled.
func Settled(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Result != Applied && o.Result != Throttled })
}
