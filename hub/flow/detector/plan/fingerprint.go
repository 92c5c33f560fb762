package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Current says whether a binding was made of a template as it is, in the version in which
// it is read, by the rules as they are, so that there is no need to look at the template
// again. The same object in another version is of no other generation.
func Current(b workv1alpha2.Binding, kind schema.GroupVersionKind, template metav1.Object, rules string) bool {
	resource := b.BindingSpec().Resource
	return resource.APIVersion == kind.GroupVersion().String() && resource.Kind == kind.Kind &&
		b.GetAnnotations()[contract.TemplateFingerprintAnnotation] == bindings.MadeOf(template, rules)
}
