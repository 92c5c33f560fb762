package kube

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// IsNoSuchResource returns whether an error says that the API server does not serve the kind at all, for instance
// because its CustomResourceDefinition was deleted. It is a NotFound like that of a missing object, but says nothing
// about any object.
func IsNoSuchResource(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || strings.Contains(status.Status().Message, "could not find the requested resource")
}

// IsUnserved returns whether an error means that the API does not have the kind, or no longer.
func IsUnserved(err error) bool { return meta.IsNoMatchError(err) }
