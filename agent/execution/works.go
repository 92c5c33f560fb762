package execution

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// defaultHubTimeout is how long the agent waits for the hub at the start before it uses the journal. The hub's Works
// are newer, and mostly arrive within a moment.
const defaultHubTimeout = 5 * time.Second

// Journal stores Works so that they outlast the process. Its methods return no errors: it reports itself what it
// cannot store.
type Journal interface {
	// Put stores the present version of a Work, before the agent acts on it. It returns false if an older version is
	// stored that could be neither replaced nor removed: an agent that starts without the hub would use that.
	Put(work *workv1alpha1.Work) (current bool)
	// Absent stores that the hub no longer has a Work. It returns false as Put does: an agent that starts without the
	// hub would then restore its missing objects.
	Absent(work *workv1alpha1.Work) (current bool)
	// Remove removes a Work.
	Remove(work types.NamespacedName)
	// PutKinds stores all kinds that were applied, before the last of them is. It must not be called concurrently.
	PutKinds(kinds []schema.GroupVersionKind)
	// PutDeletions stores the pending deletions, in the form of Deps.Deletions. It must not be called concurrently.
	PutDeletions(objects []metav1.PartialObjectMetadata)
}

// Kept is a Work that the journal had at the start.
type Kept struct {
	Work *workv1alpha1.Work
	// Absent says that the hub did not have it when it was last read.
	Absent bool
}

// noJournal is the journal of an agent without a state directory.
type noJournal struct{}

func (noJournal) Put(*workv1alpha1.Work) bool                 { return true }
func (noJournal) Absent(*workv1alpha1.Work) bool              { return true }
func (noJournal) Remove(types.NamespacedName)                 {}
func (noJournal) PutKinds([]schema.GroupVersionKind)          {}
func (noJournal) PutDeletions([]metav1.PartialObjectMetadata) {}

// origin is the source of a Work.
type origin int

const (
	// unknown means that neither hub nor journal are available. There is nothing to do.
	unknown origin = iota
	// hub means that the hub has the Work.
	hub
	// journal means that the hub cannot be reached, and the journal has the Work.
	journal
	// absent means that the hub does not have the Work, or is unreachable and did not have it when it was last read.
	absent
	// outlived means that the hub, which was restored, deletes a Work that is older than the one of its name that the
	// agent had.
	outlived
)

// works knows the Works of the member: from the hub or, until that was read since the agent started, from the
// journal.
type works struct {
	hubClient client.Reader

	mu sync.Mutex
	// hubSynced says that the hub's Works were listed once, offline that hubTimeout ran out before.
	hubSynced, offline bool
	// first are the Works of the hub's first list.
	first []*workv1alpha1.Work
	// kept are Works of the journal while the hub has not been read, and absent Works.
	kept map[types.NamespacedName]*keptWork
	// finished are the Works whose deletion the agent completed.
	finished map[types.UID]struct{}
}

// keptWork is a Work in kept.
type keptWork struct {
	work *workv1alpha1.Work
	// absent says that the hub did not have it when it was last read.
	absent bool
	// watched says that it is absent and all of its kinds are watched: objects that are not seen then do not exist.
	watched bool
}

func newWorks(hubClient client.Reader, kept []Kept) *works {
	w := &works{hubClient: hubClient, kept: map[types.NamespacedName]*keptWork{}, finished: map[types.UID]struct{}{}}
	for _, k := range kept {
		w.kept[client.ObjectKeyFromObject(k.Work)] = &keptWork{work: k.Work, absent: k.Absent}
	}
	return w
}

// Get returns a Work and its origin. For an absent Work it returns the last known version, or nil; for an outlived
// one the older Work, which is the hub's.
func (w *works) Get(ctx context.Context, name types.NamespacedName) (*workv1alpha1.Work, origin, error) {
	w.mu.Lock()
	synced, offline := w.hubSynced, w.offline
	var kept *workv1alpha1.Work
	from := journal
	if k := w.kept[name]; k != nil {
		kept = k.work
		if k.absent {
			from = absent
		}
	}
	w.mu.Unlock()
	switch {
	case !synced && offline && kept != nil:
		return kept, from, nil
	case !synced:
		return nil, unknown, nil
	}
	work := &workv1alpha1.Work{}
	err := w.hubClient.Get(ctx, name, work)
	switch {
	case apierrors.IsNotFound(err):
		return kept, absent, nil
	case err != nil:
		return nil, unknown, fmt.Errorf("reading Work %q: %w", name.Name, err)
	}
	if kept != nil {
		if !work.DeletionTimestamp.IsZero() && isOlder(work, kept) {
			return work, outlived, nil
		}
		w.Release(kept)
	}
	if work.DeletionTimestamp.IsZero() {
		w.resume(work.UID)
	}
	return work, hub, nil
}

// HubSynced returns whether the hub's Works were read.
func (w *works) HubSynced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hubSynced
}

// isOlder returns whether a Work was created before another one of its name.
func isOlder(work, other *workv1alpha1.Work) bool {
	return work.UID != other.UID && work.CreationTimestamp.Before(&other.CreationTimestamp)
}

// Replace records that the hub has another Work of the same name: until that is reconciled, the previous one is kept.
func (w *works) Replace(work *workv1alpha1.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	if k := w.kept[name]; k == nil || !isOlder(work, k.work) {
		w.kept[name] = &keptWork{work: work}
	}
}

// Outlive records that the hub does not have the Work of that name which outlived an older one, and returns it; nil
// if there is none.
func (w *works) Outlive(older *workv1alpha1.Work) *workv1alpha1.Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kept[client.ObjectKeyFromObject(older)]
	if k == nil || !isOlder(older, k.work) {
		return nil
	}
	k.absent = true
	return k.work
}

// MarkAbsent records that the hub no longer has a Work. It returns whether the agent completed its deletion; if not,
// it is absent. A Work that outlived it remains the absent one.
func (w *works) MarkAbsent(work *workv1alpha1.Work) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.finished[work.UID]; ok {
		delete(w.finished, work.UID)
		return true
	}
	name := client.ObjectKeyFromObject(work)
	if k := w.kept[name]; k != nil && isOlder(work, k.work) {
		k.absent = true
		return false
	}
	w.kept[name] = &keptWork{work: work, absent: true}
	return false
}

// Finish records that the deletion of a Work was completed.
func (w *works) Finish(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished[uid] = struct{}{}
}

// resume records that a Work is not being deleted: a restored hub takes back a deletion that the agent completed.
func (w *works) resume(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.finished, uid)
}

// Release drops a kept Work: the hub has it again, or nothing of it is left. If another one of its name is kept by
// now, that stays.
func (w *works) Release(work *workv1alpha1.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	if k := w.kept[name]; k != nil && k.work == work {
		delete(w.kept, name)
	}
}

// Watch records that all kinds of an absent Work are watched.
func (w *works) Watch(work *workv1alpha1.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k := w.kept[client.ObjectKeyFromObject(work)]; k != nil && k.work == work {
		k.watched = true
	}
}

// Watched returns the absent Works whose kinds are all watched.
func (w *works) Watched() []*workv1alpha1.Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*workv1alpha1.Work
	for _, k := range w.kept {
		if k.watched {
			out = append(out, k.work)
		}
	}
	return out
}

// Collect stores a Work that arrived before the hub's first list was complete. It returns false if the list is
// complete.
func (w *works) Collect(work *workv1alpha1.Work) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.hubSynced {
		w.first = append(w.first, work)
	}
	return !w.hubSynced
}

// arrive records that the hub was read, and returns its Works and those kept until now.
func (w *works) arrive() ([]*workv1alpha1.Work, map[types.NamespacedName]*workv1alpha1.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.first
	w.hubSynced, w.first = true, nil
	kept := make(map[types.NamespacedName]*workv1alpha1.Work, len(w.kept))
	for name, k := range w.kept {
		kept[name] = k.work
	}
	return first, kept
}

// giveUp records that the hub is unreachable for now, unless it was read, and returns the Works to reconcile
// meanwhile; absent ones are only watched.
func (w *works) giveUp() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hubSynced {
		return nil
	}
	w.offline = true
	out := make([]types.NamespacedName, 0, len(w.kept))
	for name := range w.kept {
		out = append(out, name)
	}
	return out
}
