package execution

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// object is what is known of one object of the member. It exists from the first try to
// apply it.
type object struct {
	// works is how many Works are about it. There should be one; if there are more, the
	// object stays that of the one whose it is when another goes.
	works  int
	record *plan.Record
	// pace says when it may be sent again.
	pace plan.Pace
	// stale says that the member had it otherwise than the cache.
	stale bool
	// replaced is the manifest for which it was to be deleted and made anew, and replacedUID what it was then.
	replaced    plan.Digest
	replacedUID types.UID
	// deletedManifest is the manifest as which it was in the member when somebody deleted it, or
	// took our label off.
	deletedManifest plan.Digest
	// lastDeleted is the object that the member last reported as deleted. The report may
	// overtake the answer to our own apply.
	lastDeleted struct {
		uid             types.UID
		resourceVersion string
	}
}

// Record returns the record of an object, and whether the object is one of ours at all.
// The record is not changed after it was put: who gets it may keep it.
func (m *memory) Record(name plan.Object) (record *plan.Record, tracked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return nil, false
	}
	return o.record, true
}

// Put notes how an object is. It says false if the member reported in the meantime that
// the object is gone: then the record would be wrong, and is not kept.
func (m *memory) Put(name plan.Object, record plan.Record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return true // the Work is not about this object any more
	}
	if record.UID == o.lastDeleted.uid && !contract.Older(o.lastDeleted.resourceVersion, record.ResourceVersion) {
		return false
	}
	o.record = &record
	o.deletedManifest, o.stale = plan.Digest{}, false
	return true
}

// RecordDeletion notes that the member reported an object as deleted. It says whether the object is
// one of ours.
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

// MarkStale notes that the member has an object otherwise than the cache shows it, and
// IsStale says so until the member was asked.
func (m *memory) MarkStale(name plan.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.stale = true
	}
}

// IsStale says whether the member has to be asked about an object, whatever the cache
// shows.
func (m *memory) IsStale(name plan.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	return ok && o.stale
}

// WasDeletedAs says whether an object was in the member as a manifest asks for, until somebody
// there made it vanish.
func (m *memory) WasDeletedAs(name plan.Object, manifest plan.Digest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	return ok && o.deletedManifest == manifest
}

// Due returns how long to wait before a manifest is sent once more.
func (m *memory) Due(name plan.Object, manifest plan.Digest, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		return o.pace.Due(manifest, now)
	}
	return 0
}

// Sent notes that a manifest was sent and changed the object.
func (m *memory) Sent(name plan.Object, manifest plan.Digest, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.pace = o.pace.Sent(manifest, now)
	}
}

// Replacing notes that an object is to be deleted, as what it is, to be made anew for a manifest.
func (m *memory) Replacing(name plan.Object, manifest plan.Digest, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.replaced, o.replacedUID = manifest, uid
	}
}

// IsReplaced says whether this process was to delete an object and make it anew for a manifest, and of which UID it was then: one that bears
// it still is not deleted so far.
func (m *memory) IsReplaced(name plan.Object, manifest plan.Digest) (before types.UID, replaced bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok || o.replaced != manifest {
		return "", false
	}
	return o.replacedUID, true
}

// Drop forgets the record of an object that is known to be something else by now.
func (m *memory) Drop(name plan.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.record = nil
	}
}

// vouched has an object looked for again that the informer, which has seen all objects, does not show, once its record does not vouch for it
// any more: by then it is shown, which costs no request, or it may have vanished without that anybody was told.
func (r *Reconciler) vouched(m plan.Manifest, s step) step {
	if record, _ := r.memory.Record(m.Object); record != nil && s.outcome.Result == plan.Applied {
		s.wait = record.Vouches(r.clock.Now())
	}
	return s
}
