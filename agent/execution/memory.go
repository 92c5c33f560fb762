package execution

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// memory holds the records of what was applied, by object and by Work. It is lost with
// the process; then every Work is applied once more.
type memory struct {
	mu      sync.Mutex
	objects map[plan.Object]*object
	works   map[types.NamespacedName]*work
	// retained are the kinds of which something was taken over from the member.
	retained map[schema.GroupVersionKind]struct{}
}

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
	// replaced is the manifest for which it was deleted to be made anew.
	replaced plan.Digest
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

// work is what is known of one Work.
type work struct {
	generation int64
	objects    []plan.Object
	// lastLogged is what the log last said about it.
	lastLogged string
}

func newMemory() *memory {
	return &memory{
		objects:  map[plan.Object]*object{},
		works:    map[types.NamespacedName]*work{},
		retained: map[schema.GroupVersionKind]struct{}{},
	}
}

// Retained notes that something of the objects of a kind is taken over from the member.
func (m *memory) Retained(kind schema.GroupVersionKind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retained[kind] = struct{}{}
}

// Invalidate forgets how the objects of some kinds are, of which something is, or was, taken
// over from the member, and returns the Works that are about them.
func (m *memory) Invalidate(affects, retains func(schema.GroupVersionKind) bool) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	invalid := map[schema.GroupVersionKind]bool{}
	var out []types.NamespacedName
	for name, w := range m.works {
		touched := false
		for _, o := range w.objects {
			affected, known := invalid[o.GroupVersionKind]
			if !known {
				_, was := m.retained[o.GroupVersionKind]
				affected = affects(o.GroupVersionKind) && (was || retains(o.GroupVersionKind))
				invalid[o.GroupVersionKind] = affected
			}
			if object := m.objects[o]; affected && object != nil {
				object.record, touched = nil, true
			}
		}
		if touched {
			out = append(out, name)
		}
	}
	return out
}

// Newest returns the object of the records that changed last, and its resourceVersion;
// empty if there are none.
func (m *memory) Newest() (newest plan.Object, resourceVersion string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, o := range m.objects {
		if o.record != nil && (resourceVersion == "" || contract.Older(resourceVersion, o.record.ResourceVersion)) {
			newest, resourceVersion = name, o.record.ResourceVersion
		}
	}
	return newest, resourceVersion
}

// Begin notes which objects a Work is about, forgets those that it was about before, and
// says whether this generation of the Work is new, and whether it dropped an object.
func (m *memory) Begin(name types.NamespacedName, generation int64, objects []plan.Object) (fresh, dropped bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	if !ok {
		w = &work{}
		m.works[name] = w
	}
	for _, o := range objects {
		if !slices.Contains(w.objects, o) {
			m.track(o)
		}
	}
	for _, o := range w.objects {
		if !slices.Contains(objects, o) {
			dropped = true
			m.untrack(o)
		}
	}
	w.objects = objects
	fresh = w.generation != generation
	w.generation = generation
	return fresh, dropped
}

// MayHave says whether a Work is about an object, as far as is known: one that was not
// looked at yet may be.
func (m *memory) MayHave(name types.NamespacedName, object plan.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	return !ok || slices.Contains(w.objects, object)
}

// Forget drops all that is known of a Work. It says whether anything was.
func (m *memory) Forget(name types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	if !ok {
		return false
	}
	for _, o := range w.objects {
		m.untrack(o)
	}
	delete(m.works, name)
	return true
}

// track notes that one more Work is about an object.
func (m *memory) track(name plan.Object) {
	o := m.objects[name]
	if o == nil {
		o = &object{}
		m.objects[name] = o
	}
	o.works++
}

// untrack notes that a Work is no longer about an object, and forgets the object if it was
// the last.
func (m *memory) untrack(name plan.Object) {
	o, ok := m.objects[name]
	if !ok {
		return
	}
	if o.works--; o.works == 0 {
		delete(m.objects, name)
	}
}

// NoteLogged notes what the log says of a Work, and whether that is new.
func (m *memory) NoteLogged(name types.NamespacedName, what string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	if !ok || w.lastLogged == what {
		return false
	}
	w.lastLogged = what
	return true
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

// Replace notes that an object is deleted to be made anew for a manifest. It says false if
// that was done before.
func (m *memory) Replace(name plan.Object, manifest plan.Digest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok || o.replaced == manifest {
		return false
	}
	o.replaced = manifest
	return true
}

// Drop forgets the record of an object that is known to be something else by now.
func (m *memory) Drop(name plan.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[name]; ok {
		o.record = nil
	}
}
