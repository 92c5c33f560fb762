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

// Record is what is remembered of an object after it was applied, or found to be as desired. While it still describes
// the member's object, no request is needed.
type Record struct {
	// Manifest is the digest of the applied manifest.
	Manifest Digest
	// UID and ResourceVersion are those of the object.
	UID             types.UID
	ResourceVersion string
	// Content and Marks are the object's digests of that name.
	Content Digest
	Marks   Digest
	// Owned is the digest of the fields that we own; zero if the object does not tell.
	Owned Digest
	// At is when the record was made.
	At time.Time
}

// NewRecord returns the record of an object as the member returned it.
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

// Describes returns whether what we set on an object is unchanged since the record was made, and the object is not
// being deleted.
func (r Record) Describes(live *unstructured.Unstructured) bool {
	return r.UID == live.GetUID() && live.GetDeletionTimestamp() == nil &&
		(r.keeps(live) || r.Content == Content(live) && r.Marks == Marks(live))
}

// keeps returns whether the managed fields prove that nobody changed what we own.
func (r Record) keeps(live *unstructured.Unstructured) bool {
	return r.Owned != (Digest{}) && r.Owned == Owned(live)
}

// Content is the digest of an object without metadata and status. Where a kind has a generation, that stands for it;
// ConfigMaps, Services and some others have none, so their content is hashed. Where a custom kind has no status
// subresource, status changes count towards the generation too; then Owned tells them apart.
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

// Marks is the digest of an object's labels and annotations. kubectl's annotation is ignored: the member's answers
// contain it, the cache does not.
func Marks(obj *unstructured.Unstructured) Digest {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	return digestOfJSON([]any{metadata["labels"], annotations})
}

// digestOfJSON returns the digest of a JSON value.
func digestOfJSON(value any) Digest {
	text, err := json.Marshal(value)
	if err != nil { // not JSON: nothing equals the zero digest, so nothing is skipped
		return Digest{}
	}
	return DigestOf(text)
}
