package watches

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// explain returns the reason and the sentence for a failure. They are the same for the same cause.
func explain(what watched, err error) (reason, message string) {
	of := fmt.Sprintf("the kind %s of %s", what.kind.Kind, what.kind.GroupVersion())
	if what.namespace != "" {
		of += fmt.Sprintf(" in the namespace %q", what.namespace)
	}
	said := ""
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		said = " (" + status.Status().Message + ")"
	}
	switch {
	case apierrors.IsNotFound(err):
		return workv1alpha1.ReasonKindNotServed, fmt.Sprintf("the member does not serve %s any more; install its CustomResourceDefinition there again, "+
			"or, if that is there in other versions only, use one of these in the template and in its policy", of)
	case apierrors.IsForbidden(err):
		return workv1alpha1.ReasonWatchForbidden, fmt.Sprintf("the member does not let the agent list and watch %s%s; give the agent's account there the verbs "+
			"get, list and watch for it", of, said)
	default:
		return workv1alpha1.ReasonWatchFailing, fmt.Sprintf("the member fails to list and watch %s%s; see there to what serves it: "+
			"the conversion webhook of its CustomResourceDefinition, or the APIService of its group", of, said)
	}
}
