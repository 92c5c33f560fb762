package journal

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/journal/entry"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// version identifies a version of a Work. A file is rewritten only when it changes.
type version struct {
	uid        types.UID
	generation int64
	deleting   bool
	absent     bool
	// annotations is a digest of the annotations, which change without a new generation.
	annotations [sha256.Size]byte
	// content is a digest of the spec: a hub restored from a backup assigns the same generation again.
	content [sha256.Size]byte
}

func versionOf(r entry.Record) version {
	return version{
		uid: r.Work.UID, generation: r.Work.Generation, deleting: !r.Work.DeletionTimestamp.IsZero(), absent: r.Absent,
		annotations: sha256.Sum256(fmt.Append(nil, entry.Annotations(r.Work))), // fmt prints maps in key order
		content:     digestOf(r.Work.Spec),
	}
}

// digestOf hashes a spec as the file encodes it, so that the digest of a Work is the same before it is written and
// after it is read. A spec that cannot be encoded is never written.
func digestOf(spec workv1alpha1.WorkSpec) [sha256.Size]byte {
	text, err := json.Marshal(spec)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(text)
}
