package plan

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/contract"
)

// Desired turns a manifest, which is not to be used afterwards, into what is sent to the
// member: without what only the member's API server may set, without owners and
// finalizers, which would name objects and controllers of the hub, without what kubectl
// notes for itself on the hub, and with the marks of its Work; a ServiceAccount says which
// imagePullSecrets are of the manifest, which tells them later from those that others add.
func Desired(obj *unstructured.Unstructured, work types.NamespacedName) *unstructured.Unstructured {
	obj = Stripped(obj)
	metadata := nested(obj.Object, "metadata")
	nested(metadata, "labels")[contract.ManagedLabel] = contract.LabelTrue
	annotations := nested(metadata, "annotations")
	annotations[contract.WorkNamespaceAnnotation] = work.Namespace
	annotations[contract.WorkNameAnnotation] = work.Name
	// It is about the template, and the cache of the member's objects goes without.
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if obj.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("ServiceAccount") {
		annotations[contract.ImagePullSecretsAnnotation] = imagePullSecrets(obj)
	}
	return obj
}

// imagePullSecrets returns the names of those of a ServiceAccount, separated by commas.
func imagePullSecrets(obj *unstructured.Unstructured) string {
	entries, _ := obj.Object["imagePullSecrets"].([]any)
	var names []string
	for _, entry := range entries {
		if one, ok := entry.(map[string]any); ok {
			names = append(names, text(one, "name"))
		}
	}
	return strings.Join(names, ",")
}

// Stripped returns an object without what a server-side apply must not carry. Top level
// and metadata are copies, the rest is shared.
func Stripped(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	delete(out.Object, "status")
	metadata := maps.Clone(nested(out.Object, "metadata"))
	out.Object["metadata"] = metadata
	for _, field := range []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName",
		"generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
	} {
		delete(metadata, field)
	}
	return out
}

// nested returns the map at a key, and puts one there if there is none.
func nested(of map[string]any, key string) map[string]any {
	m, ok := of[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[key] = m
	}
	return m
}
