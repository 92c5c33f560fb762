package execution

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// object is what is known about one object of the member. It exists from the first attempt to apply the object.
type object struct {
	// works is how many Works contain the object. It should be one; if there are more, the object stays with its
	// owner when another Work drops it.
	works  int
	record *plan.Record
	// pace determines when it may be sent again.
	pace plan.Pace
	// stale says that the member's object was found to differ from the cached one.
	stale bool
	// replaced is the manifest for which the object was to be deleted and created again, and replacedUID its UID at
	// that time.
	replaced    plan.Digest
	replacedUID types.UID
	// deletedManifest is the manifest that the object matched when somebody in the member deleted it, or removed our
	// label.
	deletedManifest plan.Digest
	// lastDeleted is the object that the member last reported as deleted. The report may overtake the answer to our
	// own apply.
	lastDeleted struct {
		uid             types.UID
		resourceVersion string
	}
}

// Record returns the record of an object, and whether the object is tracked at all. Records are immutable, so the
// caller may keep it.
func (m *memory) Record(name plan.Object) (record *plan.Record, tracked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return nil, false
	}
	return o.record, true
}

// Recorded returns the objects that are as this agent left them, as far as known.
func (m *memory) Recorded() []plan.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]plan.Object, 0, len(m.objects))
	for name, o := range m.objects {
		if o.record != nil {
			out = append(out, name)
		}
	}
	return out
}

// Put stores the record of an object. It returns false if the member has reported meanwhile that the object is gone:
// then the record is outdated and not stored.
func (m *memory) Put(name plan.Object, record plan.Record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return true // no Work contains this object any more
	}
	if record.UID == o.lastDeleted.uid && !contract.Older(o.lastDeleted.resourceVersion, record.ResourceVersion) {
		return false
	}
	o.record = &record
	o.deletedManifest, o.stale = plan.Digest{}, false
	return true
}

// RecordDeletion records that the member reported an object as deleted. It returns whether the object is tracked.
func (m *memory) RecordDeletion(name plan.Object, uid types.UID, resourceVersion string) (tracked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return false
	}
	o.lastDeleted.uid, o.lastDeleted.resourceVersion = uid, resourceVersion
	if o.record != nil && o.record.UID == uid && !contract.Older(resourceVersion, o.record.ResourceVersion) {
		o.deletedManifest = o.record.Manifest
		o.record = nil
	}
	return true
}

// MarkStale records that the member's object differs from the cached one; IsStale returns true until the member was
// asked.
func (m *memory) MarkStale(name plan.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.stale = true
	}
}

// IsStale returns whether the object has to be read from the member, whatever the cache shows.
func (m *memory) IsStale(name plan.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	return ok && o.stale
}

// WasDeletedAs returns whether an object matched a manifest until somebody in the member deleted it.
func (m *memory) WasDeletedAs(name plan.Object, manifest plan.Digest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	return ok && o.deletedManifest == manifest
}

// Due returns how long to wait before a manifest is sent again.
func (m *memory) Due(name plan.Object, manifest plan.Digest, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		return o.pace.Due(manifest, now)
	}
	return 0
}

// Sent records that a manifest was sent and changed the object.
func (m *memory) Sent(name plan.Object, manifest plan.Digest, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.pace = o.pace.Sent(manifest, now)
	}
}

// Replacing records that an object with this UID is to be deleted and created again for a manifest.
func (m *memory) Replacing(name plan.Object, manifest plan.Digest, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.replaced, o.replacedUID = manifest, uid
	}
}

// IsReplaced returns whether this process was to delete an object and create it again for a manifest, and the UID at
// that time: an object that still has it was not deleted.
func (m *memory) IsReplaced(name plan.Object, manifest plan.Digest) (before types.UID, replaced bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok || o.replaced != manifest {
		return "", false
	}
	return o.replacedUID, true
}

// Drop forgets the record of an object that is known to have changed.
func (m *memory) Drop(name plan.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.record = nil
	}
}

// vouched schedules a check of an object that its synced informer does not show, for when its record no longer
// vouches for it: by then the informer shows it, which costs no request, or it may have disappeared without an event.
func (r *Reconciler) vouched(m plan.Manifest, s step) step {
	if record, _ := r.memory.Record(m.Object); record != nil && s.outcome.Result == plan.Applied {
		s.wait = record.Vouches(r.clock.Now())
	}
	return s
}
