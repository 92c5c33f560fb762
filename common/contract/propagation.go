package contract

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PropagationOf parses the value of DeletionPropagationAnnotation, case-insensitively; empty means Background. It
// returns false for an unknown value.
func PropagationOf(name string) (metav1.DeletionPropagation, bool) {
	if name == "" {
		return metav1.DeletePropagationBackground, true
	}
	for _, known := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		if strings.EqualFold(name, string(known)) {
			return known, true
		}
	}
	return "", false
}
