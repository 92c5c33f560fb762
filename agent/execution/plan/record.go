package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Digest identifies a text or an object.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a text.
func DigestOf(text []byte) Digest { return sha256.Sum256(text) }

// Record is what is remembered of one object after it was applied, or found to be as
// it should be. While it still describes the member, nothing is asked of it.
type Record struct {
	// Manifest is the digest of the manifest that was applied.
	Manifest Digest
	// UID and ResourceVersion are those of the object.
	UID             types.UID
	ResourceVersion string
	// Content is the object's Content, Marks its Marks.
	Content Digest
	Marks   Digest
	// Owned is what the member says that we own of it; zero if it does not say.
	Owned Digest
	// At is when the record was made.
	At time.Time
}

// NewRecord describes an object as the member returned it.
func NewRecord(manifest Digest, live *unstructured.Unstructured, now time.Time) Record {
	return Record{
		Manifest:        manifest,
		UID:             live.GetUID(),
		ResourceVersion: live.GetResourceVersion(),
		Content:         Content(live),
		Marks:           Marks(live),
		Owned:           Owned(live),
		At:              now,
	}
}

// Describes says whether what we set on an object is as it was when the record was made,
// and the object is there to stay.
func (r Record) Describes(live *unstructured.Unstructured) bool {
	return r.UID == live.GetUID() && live.GetDeletionTimestamp() == nil &&
		(r.keeps(live) || r.Content == Content(live) && r.Marks == Marks(live))
}

// keeps says whether the member says that nobody changed what we own of an object.
func (r Record) keeps(live *unstructured.Unstructured) bool {
	return r.Owned != (Digest{}) && r.Owned == Owned(live)
}

// Content is the digest of what of an object is neither metadata nor status. The
// generation counts just that, where a kind has one; ConfigMaps, Services and some
// others have none, and of those the content itself is taken. Where a custom kind has no
// subresource for its status, the generation counts that too: then Owned tells.
func Content(obj *unstructured.Unstructured) Digest {
	if generation := obj.GetGeneration(); generation != 0 {
		return DigestOf(binary.BigEndian.AppendUint64(nil, uint64(generation)))
	}
	content := make(map[string]any, len(obj.Object))
	for field, value := range obj.Object {
		switch field {
		case "apiVersion", "kind", "metadata", "status":
		default:
			content[field] = value
		}
	}
	return digestOfJSON(content)
}

// Marks is the digest of an object's labels and annotations. What kubectl notes for itself
// does not count: an answer of the member has it, the cache has not.
func Marks(obj *unstructured.Unstructured) Digest {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	return digestOfJSON([]any{metadata["labels"], annotations})
}

// digestOfJSON returns the digest of a value made of what JSON knows.
func digestOfJSON(value any) Digest {
	text, err := json.Marshal(value)
	if err != nil { // not JSON: nothing is equal to it, so nothing is skipped
		return Digest{}
	}
	return DigestOf(text)
}
