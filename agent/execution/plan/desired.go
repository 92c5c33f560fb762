package plan

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/prune"
)

// Desired turns a manifest, which must not be used afterwards, into the object that is sent to the member. It removes
// what only the API server may set; owners and finalizers, which would refer to objects and controllers of the hub;
// kubectl's annotation; and automatic deletion after completion (TTL), which a Work that was not created by the hub
// may contain: the object would be created again and again. It adds the marks of its Work; on a ServiceAccount it
// also records which imagePullSecrets are the manifest's, to tell them later from those that others add.
func Desired(obj *unstructured.Unstructured, work types.NamespacedName) *unstructured.Unstructured {
	obj = Stripped(obj)
	prune.Lifetime(obj)
	metadata := nested(obj.Object, "metadata")
	nested(metadata, "labels")[contract.ManagedLabel] = contract.LabelTrue
	annotations := nested(metadata, "annotations")
	annotations[contract.WorkNamespaceAnnotation] = work.Namespace
	annotations[contract.WorkNameAnnotation] = work.Name
	// It is about the template, and the cache of the member's objects omits it.
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if obj.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("ServiceAccount") {
		annotations[contract.ImagePullSecretsAnnotation] = imagePullSecrets(obj)
	}
	return obj
}

// imagePullSecrets returns the names of a ServiceAccount's imagePullSecrets, separated by commas.
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

// Stripped returns an object without what a server-side apply must not contain. Top level and metadata are copies,
// the rest is shared.
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

// nested returns the map at a key; it inserts one if there is none.
func nested(of map[string]any, key string) map[string]any {
	m, ok := of[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[key] = m
	}
	return m
}
