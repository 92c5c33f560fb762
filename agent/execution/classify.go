package execution

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/interpreter"
)

// classify turns the error of a request to the member into a result and a message. The same cause always yields the
// same message: it contains no addresses, times or attempt counts.
func classify(object plan.Object, err error) (plan.Result, string) {
	if hub, ok := errors.AsType[*hubError](err); ok {
		return plan.Waiting, hub.message
	}
	if first, ok := errors.AsType[*endsFirstError](err); ok {
		return plan.Waiting, first.Error()
	}
	if changed, ok := errors.AsType[*KindChangedError](err); ok {
		return plan.Waiting, changed.Error()
	}
	switch {
	case errors.Is(err, errNoRoom):
		return plan.Unanswered, errNoRoom.Error() // the slow requests themselves report why
	case interpreter.IsUnanswered(err): // the error is not the member's
		return plan.Waiting, err.Error()
	case unserved(err):
		return plan.Waiting, unknownKind(object) + "; the agent tries again by itself"
	case noNamespace(err):
		return plan.Waiting, missingNamespace(object)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return plan.Waiting, fmt.Sprintf("the namespace %q is being deleted in the member", object.Namespace)
	case overtaken(err):
		return plan.Waiting, "the object is being changed in the member; the agent tries again by itself"
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return plan.Unanswered, "the member's API server is busy; the agent tries again by itself"
	}
	if status, ok := statusOf(err); ok {
		return plan.Refused, "the member refuses it: " + status.Message + unmergeable(status.Message)
	}
	if unreachable(err) {
		return plan.Unanswered, "the member's API server does not answer; the agent tries again by itself"
	}
	return plan.Refused, err.Error()
}

// unknownKind says what to do about a kind that the member does not serve in an object's version.
func unknownKind(object plan.Object) string {
	return fmt.Sprintf("the member does not know the kind %s of %s; install its CustomResourceDefinition there, or, if it is installed there with other versions only, "+
		"use one of these in the template and in its policy", object.Kind, object.GroupVersion())
}

// unmergeable says what to do about an object that does not fit the schema of its kind, so that the server cannot
// apply it; empty for other errors. The API has no code for that, but the server names the fields.
func unmergeable(message string) string {
	if !strings.Contains(message, "failed to create typed patch object") {
		return ""
	}
	var advice string
	if strings.Contains(message, "duplicate entries for key") {
		advice += "; elements of that list are told apart by this key: keep one with it, in the template or by an override policy"
	}
	if strings.Contains(message, "field not declared in schema") {
		advice += "; this member's version of the kind has no such field: upgrade the member, " +
			"or remove the field, from the template or for this cluster by an override policy"
	}
	return advice
}

// statusOf returns the Status that the member's API server answered, if the error is one.
func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

func missingNamespace(object plan.Object) string {
	return fmt.Sprintf(
		"the namespace %q does not exist in the member; create it there or propagate it, and the agent tries again by itself", object.Namespace)
}

// overtaken returns whether a change was refused because the object is not, or no longer, the expected one: its
// version or UID differs.
func overtaken(err error) bool {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// mindsVersion returns whether a server may have refused to create an object because of the resourceVersion in the
// apply, which Kubernetes' own accepts. The API has no code for that. Invalid objects and failing webhooks do not
// count, since they would fail without the version as well.
func mindsVersion(err error) bool {
	status, ok := statusOf(err)
	if !ok || calledWebhook(err) || !strings.Contains(strings.ToLower(status.Message), "resourceversion") {
		return false
	}
	if slices.ContainsFunc([]string{"denied the request", "conversion webhook", "failed to create typed patch object"}, func(words string) bool {
		return strings.Contains(status.Message, words)
	}) {
		return false
	}
	if apierrors.IsInvalid(err) && status.Details != nil && len(status.Details.Causes) > 0 {
		return slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.resourceVersion" })
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsInternalError(err)
}

// calledWebhook returns whether an API server called an admission or conversion webhook that was unreachable, timed
// out or answered nonsense. It matches Kubernetes' messages.
func calledWebhook(err error) bool {
	status, ok := statusOf(err)
	return ok && apierrors.IsInternalError(err) &&
		(strings.Contains(status.Message, "failed calling webhook") || strings.Contains(status.Message, "conversion webhook for "))
}

// immutable returns whether a change was refused because a field is immutable. The API has no code for that; the
// words are those of built-in kinds (volumes, roles, StatefulSets, pods) and of common custom kinds. It returns false
// if anything else is wrong as well: then the object would be refused even if created again, and the existing one
// would be lost.
func immutable(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return speaksOfImmutable(status.Status().Message)
	}
	return !slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return !speaksOfImmutable(c.Message) })
}

// speaksOfImmutable returns whether a message says that a field is immutable.
func speaksOfImmutable(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{
		"immutable", "may not change", "cannot change", "cannot be changed", "can't be changed", "not be modified",
		"forbidden: updates to", "forbidden: pod updates may not",
	}, func(words string) bool { return strings.Contains(message, words) })
}

// noNamespace returns whether an object was refused because its namespace is missing.
func noNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// unreachable returns whether an error is about the connection rather than the request.
func unreachable(err error) bool {
	var network net.Error
	var address *url.Error
	return errors.As(err, &network) || errors.As(err, &address) || errors.Is(err, context.DeadlineExceeded)
}
