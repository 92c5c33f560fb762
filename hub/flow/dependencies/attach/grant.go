package attach

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// GrantKind is the kind by which the owner of a namespace lets objects of other namespaces refer to what is in it.
func GrantKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "ReferenceGrant"}
}

// GrantDefinition is the name of the CustomResourceDefinition of that kind.
func GrantDefinition() string { return "referencegrants." + GrantKind().Group }

// Crosses says whether what a workload needs is in another namespace than itself. What is in no namespace an administrator made.
func Crosses(workload workv1alpha2.ObjectReference, ref configv1alpha1.DependentObjectReference) bool {
	return bindings.IsForeign(workload.Namespace, ref.Namespace)
}

// Granted says whether the ReferenceGrants of the namespace of a reference let a workload have what it refers to. Whoever
// selects by labels needs a grant for all of the kind.
func Granted(grants []*unstructured.Unstructured, workload workv1alpha2.ObjectReference, ref configv1alpha1.DependentObjectReference) bool {
	from := schema.FromAPIVersionAndKind(workload.APIVersion, workload.Kind)
	to := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return slices.ContainsFunc(grants, func(grant *unstructured.Unstructured) bool {
		return grant.GetNamespace() == ref.Namespace && grant.GetDeletionTimestamp() == nil &&
			slices.ContainsFunc(entries(grant, "from"), func(e map[string]any) bool {
				return e["group"] == from.Group && e["kind"] == from.Kind && e["namespace"] == workload.Namespace
			}) &&
			slices.ContainsFunc(entries(grant, "to"), func(e map[string]any) bool {
				name, _ := e["name"].(string)
				return e["group"] == to.Group && e["kind"] == to.Kind && (name == "" || ref.Name != "" && name == ref.Name)
			})
	})
}

// entries returns the entries of a list in the spec of a grant; what is none is left out.
func entries(grant *unstructured.Unstructured, field string) []map[string]any {
	list, _, err := unstructured.NestedSlice(grant.Object, "spec", field)
	if err != nil {
		return nil // it says nothing that could be granted
	}
	var out []map[string]any
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			out = append(out, entry)
		}
	}
	return out
}
