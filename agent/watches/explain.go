package watches

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// explain returns the reason and the message for a failure. The same cause always yields the same text.
func explain(what watched, err error) (reason, message string) {
	subject := fmt.Sprintf("the kind %s of %s", what.kind.Kind, what.kind.GroupVersion())
	if what.namespace != "" {
		subject += fmt.Sprintf(" in the namespace %q", what.namespace)
	}
	detail := ""
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		detail = " (" + status.Status().Message + ")"
	}
	switch {
	case apierrors.IsNotFound(err):
		return workv1alpha1.ReasonKindNotServed, fmt.Sprintf("the member does not serve %s any more; install its CustomResourceDefinition there again, "+
			"or, if it is installed there with other versions only, use one of these in the template and in its policy", subject)
	case apierrors.IsForbidden(err):
		return workv1alpha1.ReasonWatchForbidden, fmt.Sprintf("the member does not let the agent list and watch %s%s; give the agent's account there the verbs "+
			"get, list and watch for it", subject, detail)
	default:
		return workv1alpha1.ReasonWatchFailing, fmt.Sprintf("the member fails to list and watch %s%s; check there what serves it: "+
			"the conversion webhook of its CustomResourceDefinition, or the APIService of its group", subject, detail)
	}
}
