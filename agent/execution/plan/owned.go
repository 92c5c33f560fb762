package plan

import (
	"encoding/hex"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// brief begins the name of the one manager that an object has after Slim.
const brief = "owned:"

// Owned is the digest of what the member says that our applies own of an object; zero if
// it does not say. It is another one as soon as anybody changes or removes a field that we
// set, and stays the same whatever others do to the rest: that tells drift from the
// business of the member, whatever counts as its generation.
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
		if isOurApply(entry) { // more than one, if the template came in more than one version
			// The time is that of our last change, so that who applies in our name is known.
			ours = append(ours, entry["time"], entry["fieldsV1"])
		}
	}
	if ours == nil {
		return Digest{}
	}
	return digestOfJSON(ours)
}

// Slim strips from an object of the member, in place, what nobody reads, and keeps of who
// set which field only what Owned needs. It may be called again.
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

// managers returns the entries of who set which field, as they are.
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

// isOurApply says whether an entry is that of our applies.
func isOurApply(entry map[string]any) bool {
	subresource, _ := entry["subresource"].(string)
	return entry["manager"] == contract.FieldManagerAgent &&
		entry["operation"] == string(metav1.ManagedFieldsOperationApply) && subresource == ""
}
