package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Instances returns the kind that a CustomResourceDefinition defines, in a version that the
// member serves. It says false if the member serves none: then there are no instances to ask for, though some may be stored.
func Instances(definition *unstructured.Unstructured) (schema.GroupVersionKind, bool) {
	out := definedBy(definition).WithVersion("")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if served, _, _ := unstructured.NestedBool(version, "served"); served {
			out.Version = text(version, "name")
			return out, out.Version != "" && out.Kind != ""
		}
	}
	return out, false
}

// definedBy is the kind that a CustomResourceDefinition defines.
func definedBy(definition *unstructured.Unstructured) schema.GroupKind {
	return schema.GroupKind{Group: text(definition.Object, "spec", "group"), Kind: text(definition.Object, "spec", "names", "kind")}
}

// Established returns since when the member takes instances of a CustomResourceDefinition, by its clock, and whether it ever did:
// if not, there are none.
func Established(definition *unstructured.Unstructured) (time.Time, bool) {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || text(condition, "type") != "Established" {
			continue
		}
		since, _ := time.Parse(time.RFC3339, text(condition, "lastTransitionTime")) // without one it is long ago
		return since, text(condition, "status") == string(metav1.ConditionTrue)
	}
	return time.Time{}, false
}
