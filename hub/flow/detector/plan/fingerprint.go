package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Current says whether a binding was made of a template as it is, by the rules as they
// are, so that there is no need to look at the template again.
func Current(b metav1.Object, template metav1.Object, rules string) bool {
	return b.GetAnnotations()[contract.TemplateFingerprintAnnotation] == bindings.MadeOf(template, rules)
}
