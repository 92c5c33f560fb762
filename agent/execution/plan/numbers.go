package plan

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// OtherNumbers returns a copy of an object with each number increased by one, except in its metadata.
func OtherNumbers(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	for key, value := range out.Object {
		if key != "metadata" {
			out.Object[key] = otherNumbers(value)
		}
	}
	return out
}

func otherNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = otherNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = otherNumbers(v[i])
		}
	case int64:
		return v + 1
	case float64:
		return v + 1
	}
	return value
}
