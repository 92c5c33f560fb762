package override

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// applyMetadata changes labels or annotations of the object itself. It returns why it had no effect; empty if it had
// one.
func applyMetadata(obj *unstructured.Unstructured, field string, o *policyv1alpha1.LabelAnnotationOverrider) string {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok || len(o.Value) == 0 {
		return "it names nothing"
	}
	current, ok := metadata[field].(map[string]any)
	if !ok && o.Operator == policyv1alpha1.OverrideAdd {
		current = map[string]any{}
		metadata[field] = current
	}
	found := false
	for key, value := range o.Value {
		_, exists := current[key]
		found = found || exists || o.Operator == policyv1alpha1.OverrideAdd
		switch {
		case o.Operator == policyv1alpha1.OverrideRemove:
			delete(current, key)
		case exists, o.Operator == policyv1alpha1.OverrideAdd:
			current[key] = value
		}
	}
	if !found {
		return fmt.Sprintf("the object has none of these %s to %s", field, o.Operator)
	}
	return ""
}
