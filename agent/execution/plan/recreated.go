package plan

import (
	"encoding/hex"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// MarkRecreated records on an object that is to be sent for which manifest it is created again.
func MarkRecreated(desired *unstructured.Unstructured, manifest Digest) {
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.RecreatedForAnnotation] = hex.EncodeToString(manifest[:])
	desired.SetAnnotations(annotations)
}

// IsRecreated returns whether a live object was created again for a manifest.
func IsRecreated(live *unstructured.Unstructured, manifest Digest) bool {
	return live.GetAnnotations()[contract.RecreatedForAnnotation] == hex.EncodeToString(manifest[:])
}
