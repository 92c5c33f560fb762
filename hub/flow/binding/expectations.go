package binding

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/fanout"
)

// expectTimeout is how long the cache may take to show a write. After that the cache counts; a missed write costs a request that the server
// rejects.
const expectTimeout = 30 * time.Second

// expectations remember writes of Works that the cache does not show yet, so that an early reconcile neither repeats nor loses a write.
// They also tell this hub's writes from those of others in the watch, so that its own writes do not trigger a reconcile.
//
//	begin ──> under way ──> wrote ──> expected ──> seen: forgotten
//	               └──────> failed: forgotten
//
//	deleting ──> seen, or withdrawn: forgotten
type expectations struct {
	clock clock.PassiveClock

	mu        sync.Mutex
	works     map[types.NamespacedName]*expected
	byBinding map[string]sets.Set[types.NamespacedName]
	// suspect are Works whose spec another writer changed, so that their hash means nothing.
	suspect sets.Set[types.NamespacedName]
}

type expected struct {
	binding string
	since   time.Time
	// hash is the hash of what is being written.
	hash string
	// seen is the version that the watch showed during the write.
	seen string
	// live is the Work as the server returned it; nil during the write.
	live *workv1alpha1.Work
	// deleted is set for the deletion of the Work; otherwise zero.
	deleted deletion
}

// deletion says which Work is deleted, and why.
type deletion struct {
	uid    types.UID
	intent string
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{
		clock:     c,
		works:     map[types.NamespacedName]*expected{},
		byBinding: map[string]sets.Set[types.NamespacedName]{},
		suspect:   sets.Set[types.NamespacedName]{},
	}
}

// begin must be called before a Work is created or changed.
func (e *expectations) begin(binding string, w *workv1alpha1.Work) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(fanout.Key(w), &expected{binding: binding, hash: w.Annotations[contract.ManifestHashAnnotation]})
}

// wrote must be called with the server's response, which it may keep.
func (e *expectations) wrote(w *workv1alpha1.Work) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fanout.Key(w)
	e.suspect.Delete(key)
	x := e.works[key]
	if x == nil {
		return
	}
	if x.seen != "" && !contract.Older(x.seen, w.ResourceVersion) {
		e.drop(key)
		return
	}
	w.Spec.Workload.Manifests = nil
	w.ManagedFields = nil
	x.live = w
}

// failed must be called when a write failed. The watch reports whether it had an effect nevertheless.
func (e *expectations) failed(w *workv1alpha1.Work) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(fanout.Key(w))
}

// deleting must be called before a Work is deleted, with the intent that is written on it first.
func (e *expectations) deleting(binding string, w *workv1alpha1.Work, intent string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(fanout.Key(w), &expected{binding: binding, deleted: deletion{uid: w.UID, intent: intent}})
}

// withdrawing must be called before the deletion of a Work is withdrawn: the cache need not show the deletion any more.
func (e *expectations) withdrawing(w *workv1alpha1.Work) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fanout.Key(w)
	if x := e.works[key]; x != nil && x.deleted.uid == w.UID {
		e.drop(key)
	}
}

// observe must be called with each Work that the watch shows as created or changed. It returns whether this hub caused that. A change of
// the spec by another writer makes the Work suspect.
func (e *expectations) observe(w *workv1alpha1.Work, specChanged bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fanout.Key(w)
	ours := e.explains(key, w)
	if !ours && specChanged {
		e.suspect.Insert(key)
	}
	return ours
}

func (e *expectations) explains(key types.NamespacedName, w *workv1alpha1.Work) bool {
	x := e.works[key]
	switch {
	case x == nil:
		return false
	case x.deleted.uid != "":
		if w.UID == x.deleted.uid && (w.DeletionTimestamp.IsZero() || !contract.DeletionIntended(w.Annotations)) {
			return true // an older event
		}
		e.drop(key)
		return w.UID == x.deleted.uid
	case x.live == nil:
		if x.hash != w.Annotations[contract.ManifestHashAnnotation] {
			return false
		}
		x.seen = w.ResourceVersion
		return true
	case contract.Older(w.ResourceVersion, x.live.ResourceVersion):
		return true // an older event
	default:
		e.drop(key)
		return w.ResourceVersion == x.live.ResourceVersion
	}
}

// gone must be called with each Work that the watch shows as deleted.
func (e *expectations) gone(w *workv1alpha1.Work) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fanout.Key(w)
	e.suspect.Delete(key)
	if x := e.works[key]; x != nil && (x.deleted.uid == w.UID || (x.live != nil && x.live.UID == w.UID)) {
		e.drop(key)
	}
}

// pending are the writes for a binding that the cache does not show yet.
type pending struct {
	written map[types.NamespacedName]*workv1alpha1.Work
	deleted map[types.NamespacedName]deletion
	suspect sets.Set[types.NamespacedName]
	now     metav1.Time
}

// pending returns the pending writes. It must be called before the cache is read, so that each write is in one of the two.
func (e *expectations) pending(binding string) pending {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := pending{
		written: map[types.NamespacedName]*workv1alpha1.Work{},
		deleted: map[types.NamespacedName]deletion{},
		suspect: e.suspect.Clone(),
		now:     metav1.NewTime(e.clock.Now()),
	}
	for key := range e.byBinding[binding].Clone() {
		x := e.works[key]
		switch {
		case e.clock.Since(x.since) > expectTimeout:
			e.drop(key)
		case x.deleted.uid != "":
			out.deleted[key] = x.deleted
		case x.live != nil:
			out.written[key] = x.live
		}
	}
	return out
}

// latest returns the Works of a binding according to the cache and the writes since. It modifies none of them.
func (p pending) latest(cached []*workv1alpha1.Work) []*workv1alpha1.Work {
	out := make([]*workv1alpha1.Work, 0, len(cached)+len(p.written))
	for _, w := range cached {
		key := fanout.Key(w)
		if mine, ok := p.written[key]; ok {
			delete(p.written, key)
			if contract.Older(w.ResourceVersion, mine.ResourceVersion) {
				w = mine
			}
		}
		if d, ok := p.deleted[key]; ok && d.uid == w.UID {
			w = w.DeepCopy()
			if w.DeletionTimestamp.IsZero() {
				w.DeletionTimestamp = &p.now
			}
			metav1.SetMetaDataAnnotation(&w.ObjectMeta, contract.DeletionIntentAnnotation, d.intent)
		}
		out = append(out, w)
	}
	for _, w := range p.written {
		out = append(out, w)
	}
	return out
}

func (e *expectations) put(key types.NamespacedName, x *expected) {
	e.drop(key)
	x.since = e.clock.Now()
	e.works[key] = x
	if e.byBinding[x.binding] == nil {
		e.byBinding[x.binding] = sets.Set[types.NamespacedName]{}
	}
	e.byBinding[x.binding].Insert(key)
}

func (e *expectations) drop(key types.NamespacedName) {
	x := e.works[key]
	if x == nil {
		return
	}
	delete(e.works, key)
	e.byBinding[x.binding].Delete(key)
	if len(e.byBinding[x.binding]) == 0 {
		delete(e.byBinding, x.binding)
	}
}
