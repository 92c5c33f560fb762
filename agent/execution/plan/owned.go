package plan

import (
	"encoding/hex"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// brief is the prefix of the only field manager that an object has after Slim.
const brief = "owned:"

// Owned is the digest of the fields that our applies own; zero if the object does not tell. It changes as soon as
// anybody changes or removes a field that we set, and not with anything else: that tells drift from the member's own
// changes, whatever counts towards its generation.
func Owned(obj *unstructured.Unstructured) Digest {
	var ours []any
	for _, entry := range managers(obj) {
		name, _ := entry["manager"].(string)
		if text, ok := strings.CutPrefix(name, brief); ok {
			var digest Digest
			if n, err := hex.Decode(digest[:], []byte(text)); err == nil && n == len(digest) {
				return digest
			}
		}
		if isOurApply(entry) { // more than one, if the template was sent in several API versions
			// The time is that of our last change, which reveals an apply by somebody else under our name.
			ours = append(ours, entry["time"], entry["fieldsV1"])
		}
	}
	if ours == nil {
		return Digest{}
	}
	return digestOfJSON(ours)
}

// Slim removes, in place, parts of a member's object that are not used, and reduces its managed fields to what Owned
// needs. It may be called repeatedly.
func Slim(obj *unstructured.Unstructured) {
	owned := Owned(obj)
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	delete(metadata, "managedFields")
	if owned != (Digest{}) {
		metadata["managedFields"] = []any{map[string]any{"manager": brief + hex.EncodeToString(owned[:])}}
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
}

// managers returns the entries of managedFields.
func managers(obj *unstructured.Unstructured) []map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			out = append(out, entry)
		}
	}
	return out
}

// isOurApply returns whether an entry is that of our applies.
func isOurApply(entry map[string]any) bool {
	subresource, _ := entry["subresource"].(string)
	return entry["manager"] == contract.FieldManagerAgent &&
		entry["operation"] == string(metav1.ManagedFieldsOperationApply) && subresource == ""
}
