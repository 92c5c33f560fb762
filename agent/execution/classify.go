package execution

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"fairlead.dev/agent/execution/plan"
)

// classify turns the error of a request to the member into a result and a sentence. The
// sentence is the same for the same cause: no addresses, times or numbers of tries.
func classify(object plan.Object, err error) (plan.Result, string) {
	switch {
	case meta.IsNoMatchError(err), noSuchResource(err):
		return plan.Waiting, fmt.Sprintf(
			"the member does not know the kind %s of %s; install its CustomResourceDefinition there, and this is tried again by itself",
			object.Kind, object.GroupVersion())
	case noNamespace(err):
		return plan.Waiting, fmt.Sprintf(
			"the namespace %q does not exist in the member; create it there or propagate it, and this is tried again by itself", object.Namespace)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return plan.Waiting, fmt.Sprintf("the namespace %q is being deleted in the member", object.Namespace)
	case apierrors.IsConflict(err):
		return plan.Waiting, "the object is being changed in the member; this is tried again by itself"
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return plan.Unanswered, "the member's API server is busy; this is tried again by itself"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return plan.Refused, "the member refuses it: " + status.Status().Message
	}
	if unreachable(err) {
		return plan.Unanswered, "the member's API server does not answer; this is tried again by itself"
	}
	return plan.Refused, err.Error()
}

// noSuchResource says whether the member has no such path: the kind was there once, and
// its definition is gone.
func noSuchResource(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || strings.Contains(status.Status().Message, "could not find the requested resource")
}

// noNamespace says whether an object was refused because its namespace is missing.
func noNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// unreachable says whether an error is of the connection and not of the request.
func unreachable(err error) bool {
	var network net.Error
	var address *url.Error
	return errors.As(err, &network) || errors.As(err, &address) || errors.Is(err, context.DeadlineExceeded)
}
