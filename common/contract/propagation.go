package contract

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PropagationOf reads what DeletionPropagationAnnotation says, in any case; silence is Background. False is returned
// for what is none of the words.
func PropagationOf(said string) (metav1.DeletionPropagation, bool) {
	if said == "" {
		return metav1.DeletePropagationBackground, true
	}
	for _, known := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		if strings.EqualFold(said, string(known)) {
			return known, true
		}
	}
	return "", false
}
