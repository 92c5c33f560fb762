package execution

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// defaultHubTimeout is how long the agent waits for the hub at start before it goes by
// the journal. What the hub says is newer, and mostly there in a moment.
const defaultHubTimeout = 5 * time.Second

// Journal keeps Works where they outlast the process. It does not fail: what it cannot
// keep it tells itself.
type Journal interface {
	// Put keeps a Work as it is now. It is called before the agent acts upon it. It says false if an older version is kept that
	// could be neither replaced nor removed: an agent that starts without the hub would go by that.
	Put(work *workv1alpha1.Work) (current bool)
	// Absent keeps a Work as one that the hub does not have any more. It says false as Put does: then an agent that starts
	// without the hub would put back what is missing of it.
	Absent(work *workv1alpha1.Work) (current bool)
	// Remove forgets a Work.
	Remove(work types.NamespacedName)
}

// Kept is a Work that the journal had at start.
type Kept struct {
	Work *workv1alpha1.Work
	// Absent says that the hub did not have it any more when it was last heard.
	Absent bool
}

// noJournal is the journal of an agent that has no disk.
type noJournal struct{}

func (noJournal) Put(*workv1alpha1.Work) bool    { return true }
func (noJournal) Absent(*workv1alpha1.Work) bool { return true }
func (noJournal) Remove(types.NamespacedName)    {}

// origin is who says how a Work is.
type origin int

const (
	// unknown : neither the hub nor the journal was heard. There is nothing to do.
	unknown origin = iota
	// hub : the hub has the Work.
	hub
	// journal : the hub cannot be reached, and the journal has the Work.
	journal
	// absent : the hub does not have the Work, or cannot be reached and did not have it any more when it was last heard.
	absent
	// outlived : the hub, which was restored, deletes a Work that is older than the one of its name that the agent had.
	outlived
)

// works knows the Works of the member: as the hub shows them, and as long as that was not
// heard since the agent started, as the journal has them.
type works struct {
	hubClient client.Reader

	mu sync.Mutex
	// hubSynced says that the first list of the hub's Works was read, offline that hubTimeout
	// ran out before.
	hubSynced, offline bool
	// first are the Works of the hub's first answer.
	first []*workv1alpha1.Work
	// kept are Works of the journal that the hub was not heard about, and those that are
	// absent. Those that it has are not among them.
	kept map[types.NamespacedName]*keptWork
	// finished are the Works whose deletion we saw through.
	finished map[types.UID]struct{}
}

// keptWork is one of them.
type keptWork struct {
	work *workv1alpha1.Work
	// absent says that the hub did not have it any more when it was last heard.
	absent bool
	// watched says that it is absent, and that all kinds are watched of which it has objects: if none is seen then, there is none.
	watched bool
}

func newWorks(hubClient client.Reader, kept []Kept) *works {
	w := &works{hubClient: hubClient, kept: map[types.NamespacedName]*keptWork{}, finished: map[types.UID]struct{}{}}
	for _, k := range kept {
		w.kept[client.ObjectKeyFromObject(k.Work)] = &keptWork{work: k.Work, absent: k.Absent}
	}
	return w
}

// Get returns a Work and who says so. Of an absent Work it returns what is left: how it
// was when it was last seen, or nil. Of one that is outlived it returns the older one, that of the hub.
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

// HubSynced says whether the hub was heard.
func (w *works) HubSynced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hubSynced
}

// isOlder says whether a Work was made before another one of its name.
func isOlder(work, other *workv1alpha1.Work) bool {
	return work.UID != other.UID && work.CreationTimestamp.Before(&other.CreationTimestamp)
}

// Replace takes over that the hub has another Work of the name of one that it had: until that is looked at, this one is kept.
func (w *works) Replace(work *workv1alpha1.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	if k := w.kept[name]; k == nil || !isOlder(work, k.work) {
		w.kept[name] = &keptWork{work: work}
	}
}

// Outlive notes that the hub does not have the Work of a name that outlived an older one, which it returns; nil if there is none.
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

// MarkAbsent takes over a Work that the hub no longer has. It says whether we saw its deletion
// through; if not, it is absent. One that outlived it stays what is absent.
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

// Finish notes that the deletion of a Work was seen through.
func (w *works) Finish(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished[uid] = struct{}{}
}

// resume notes that a Work is not being deleted: a hub that was restored takes back a deletion
// that we saw through.
func (w *works) resume(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.finished, uid)
}

// Release forgets a Work that was kept: the hub has it again, or nothing of it is left. If another one of its name is kept by now, that stays.
func (w *works) Release(work *workv1alpha1.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	if k := w.kept[name]; k != nil && k.work == work {
		delete(w.kept, name)
	}
}

// Watch notes that all kinds of an absent Work are watched.
func (w *works) Watch(work *workv1alpha1.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k := w.kept[client.ObjectKeyFromObject(work)]; k != nil && k.work == work {
		k.watched = true
	}
}

// Watched returns the absent Works of which all kinds are watched.
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

// Collect takes a Work that was heard of before the hub's first answer was complete. It
// says false if it is.
func (w *works) Collect(work *workv1alpha1.Work) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.hubSynced {
		w.first = append(w.first, work)
	}
	return !w.hubSynced
}

// arrive notes that the hub was heard, and returns what it said, and what was kept until
// now.
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

// giveUp notes that the hub cannot be reached for now, unless it was heard, and returns
// the Works to go on with, of which those that are absent are only watched.
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
