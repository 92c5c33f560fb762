package kube

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsNoSuchResource says whether an error of a request is that the API server does not serve the kind at all, such as one whose
// CustomResourceDefinition was deleted. It is a NotFound like that of a missing object, but says nothing about any object.
func IsNoSuchResource(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || strings.Contains(status.Status().Message, "could not find the requested resource")
}
