package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Current returns whether a binding was made of a template in its present state and version by the present interpretation rules, so that
// the template need not be read again. The generation of an object is the same in all versions.
func Current(b workv1alpha2.Binding, kind schema.GroupVersionKind, template metav1.Object, rules string) bool {
	resource := b.BindingSpec().Resource
	return resource.APIVersion == kind.GroupVersion().String() && resource.Kind == kind.Kind &&
		b.GetAnnotations()[contract.TemplateFingerprintAnnotation] == bindings.MadeOf(template, rules)
}
