package journal

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/journal/entry"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// version identifies a version of a Work, to tell whether the file has to be written again.
type version struct {
	uid        types.UID
	generation int64
	deleting   bool
	absent     bool
	// annotations is a digest of the annotations, which may change without the generation.
	annotations [sha256.Size]byte
	// content is a digest of the spec: a hub that was restored from a backup uses a generation a second time.
	content [sha256.Size]byte
}

func versionOf(r entry.Record) version {
	return version{
		uid: r.Work.UID, generation: r.Work.Generation, deleting: !r.Work.DeletionTimestamp.IsZero(), absent: r.Absent,
		annotations: sha256.Sum256(fmt.Append(nil, entry.Annotations(r.Work))), // maps are printed in order
		content:     digestOf(r.Work.Spec),
	}
}

// digestOf returns a digest of a spec, by the encoding that the file has, so that a Work has the same digest before it is written and after
// it is read. A spec that cannot be encoded is in no file.
func digestOf(spec workv1alpha1.WorkSpec) [sha256.Size]byte {
	text, err := json.Marshal(spec)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(text)
}
