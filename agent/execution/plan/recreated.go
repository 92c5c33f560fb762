package plan

import (
	"encoding/hex"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// MarkRecreated has an object that is to be sent say for which manifest it is made anew.
func MarkRecreated(desired *unstructured.Unstructured, manifest Digest) {
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.RecreatedForAnnotation] = hex.EncodeToString(manifest[:])
	desired.SetAnnotations(annotations)
}

// IsRecreated says whether an object of the member was made anew for a manifest.
func IsRecreated(live *unstructured.Unstructured, manifest Digest) bool {
	return live.GetAnnotations()[contract.RecreatedForAnnotation] == hex.EncodeToString(manifest[:])
}
