package journal

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/agent/journal/entry"
)

const (
	// kindsFile lists the kinds that were ever applied in the member.
	kindsFile = "kinds"
	// maxKinds bounds the bytes read of that file. A few hundred kinds take a tenth of it.
	maxKinds = 1 << 20
)

// Kinds returns the kinds that were applied in the member before this agent started, oldest first.
func (j *Journal) Kinds() []schema.GroupVersionKind { return j.kinds.known().List() }

// PutKinds records the kinds that were, or are about to be, applied in the member. It must not be called
// concurrently. If the list cannot be written, the file on disk lacks some kinds.
func (j *Journal) PutKinds(all []schema.GroupVersionKind) { j.kinds.put(j, entry.KindsOf(all)) }
