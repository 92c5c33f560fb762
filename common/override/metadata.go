package override

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// applyMetadata changes labels or annotations of the object itself.
func applyMetadata(obj *unstructured.Unstructured, field string, o *policyv1alpha1.LabelAnnotationOverrider) {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok || len(o.Value) == 0 {
		return
	}
	current, ok := metadata[field].(map[string]any)
	if !ok {
		if o.Operator != policyv1alpha1.OverrideAdd {
			return
		}
		current = map[string]any{}
		metadata[field] = current
	}
	for key, value := range o.Value {
		_, exists := current[key]
		switch {
		case o.Operator == policyv1alpha1.OverrideRemove:
			delete(current, key)
		case exists, o.Operator == policyv1alpha1.OverrideAdd:
			current[key] = value
		}
	}
}
