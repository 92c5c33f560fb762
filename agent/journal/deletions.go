package journal

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/journal/entry"
)

const (
	// deletionsFile lists the objects of ended Works that were deleted in the member but still exist.
	deletionsFile = "deletions"
	// maxDeletions bounds the bytes read of that file. A thousand objects with the longest possible names take half
	// of it.
	maxDeletions = 4 << 20
)

// Deletions returns the objects whose deletion was still pending when the previous agent process stopped, as
// PutDeletions recorded them.
func (j *Journal) Deletions() []metav1.PartialObjectMetadata { return j.deletions.known().Objects }

// PutDeletions records the objects that were deleted in the member but still exist. It must not be called
// concurrently. If the list cannot be written, the file on disk is outdated: it may lack objects, or list some that
// are gone.
func (j *Journal) PutDeletions(objects []metav1.PartialObjectMetadata) {
	j.deletions.put(j, entry.Deletions{Objects: objects})
}
