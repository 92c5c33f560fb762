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

// Result is how it went with one manifest.
type Result int

// Values of Result.
const (
	// Applied : the object is in the member as asked for.
	Applied Result = iota
	// Waiting : something is missing that may come by itself, such as the namespace.
	Waiting
	// Refused : it cannot be applied as things are.
	Refused
	// Unanswered : the member did not say. Nothing is known that was not known before.
	Unanswered
	// Throttled : somebody in the member changes the object again and again, and it is put
	// back after a pause.
	Throttled
)

// Outcome is how it went with one manifest, and why.
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
	// ThrottledMessage says why an object is not as it was asked for.
	ThrottledMessage  = "somebody in the member changes it again and again, so it is put back only after a pause; find out who (status.drift of this Work names them) and have them stop"
	noManifestMessage = "The Work has no manifests: there is nothing to apply"
)

// Condition sums up the outcomes of a Work as its condition Applied.
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
		Reason: workv1alpha1.ReasonAppliedFailed,
		Message: prose.Cut(fmt.Sprintf("Failed to apply all manifests (%d/%d): %s",
			len(outcomes)-len(failed), len(outcomes), strings.Join(sentences, "; ")), prose.OfCondition),
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

// sentence says of which manifest an outcome is.
func sentence(o Outcome) string {
	if o.Object.Kind == "" || o.Object.Name == "" {
		return fmt.Sprintf("manifest %d: %s", o.Ordinal, o.Message)
	}
	return o.Object.String() + ": " + o.Message
}

// Pending says whether some outcome waits for something that may come by itself.
func Pending(outcomes []Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Result == Waiting || o.Result == Unanswered })
}

// ShouldReport says whether outcomes are to be told. Late says that enough was tried for
// what comes by itself in a moment to have come. Reported says that this generation of the
// Work was told of before: then the silence of the member about some manifests takes nothing back, and hides nothing
// of what came of the others. That the
// member does not answer is said of the Cluster, once, and not of each of its Works.
func ShouldReport(outcomes []Outcome, late, reported bool) bool {
	if !Pending(outcomes) {
		return true
	}
	failed := slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Result == Waiting || o.Result == Refused || o.Result == Throttled })
	return late && (!reported || failed)
}

// Settled says whether no manifest needs another try before its time: each was applied, or
// is put back after a pause.
func Settled(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Result != Applied && o.Result != Throttled })
}
