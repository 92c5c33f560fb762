package entry

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Deletions are the objects that were deleted in the member but still exist: their names and UIDs, since when, and
// for which Works.
type Deletions struct {
	Objects []metav1.PartialObjectMetadata `json:"objects,omitempty"`
}
