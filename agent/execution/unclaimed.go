package execution

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/prose"
)

const (
	// countEvery is how often unclaimed objects are counted, if anything changed.
	countEvery = time.Second
	// namedObjects is how many objects an event names.
	namedObjects = 10
)

// unclaimed tracks the objects in the member that name a Work of this member which the hub does not have, or which
// does not contain them. They stay as they are, and are reported.
type unclaimed struct {
	mu sync.Mutex
	// changed says that something happened since the last count.
	changed bool
	// suspects are those found for the first time: a Work may be on its way.
	suspects map[types.UID]struct{}
	// lastNotes are the last reports, by Work.
	lastNotes map[types.NamespacedName]string
	count     int
}

func newUnclaimed() *unclaimed {
	return &unclaimed{suspects: map[types.UID]struct{}{}, lastNotes: map[types.NamespacedName]string{}}
}

// Look requests a count.
func (u *unclaimed) Look() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed = true
}

// Due returns whether a count is due.
func (u *unclaimed) Due() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	due := u.changed
	u.changed = false
	return due
}

// Unclaimed returns the number of objects in the member that no Work of the hub claims.
func (r *Reconciler) Unclaimed() int {
	r.unclaimed.mu.Lock()
	defer r.unclaimed.mu.Unlock()
	return r.unclaimed.count
}

// absent handles a Work that the hub does not have, or did not have when it was last read. That says nothing about
// its objects: they stay and are watched, so that they can be reported.
func (r *Reconciler) absent(ctx context.Context, req reconcile.Request, last *workv1alpha1.Work) error {
	r.pendingDeletions.Forget(req.NamespacedName)
	if last == nil {
		return r.forget(ctx, req)
	}
	r.journal.Absent(last) // a failed write is retried, and blocks nothing on the hub
	r.backoff.Forget(req)
	r.prerequisites.Forget(req.NamespacedName)
	r.memory.Forget(req.NamespacedName)
	r.wake(r.waits.Over(req.NamespacedName))
	if err := r.waitsNoMore(ctx, req.NamespacedName); err != nil {
		return err
	}
	for _, m := range plan.Parse(last) {
		if m.Problem != nil || r.outside(m.Object) != nil {
			continue
		}
		object, known, err := r.known(ctx, m.Object)
		if err != nil {
			return err
		}
		if !known {
			continue // there is nothing to report
		}
		if err := r.kinds.Use(ctx, req.NamespacedName, object.GroupVersionKind); err != nil {
			return err
		}
	}
	r.works.Watch(last)
	r.unclaimed.Look()
	return nil
}

// countUnclaimed recounts after changes, until the context ends.
func (r *Reconciler) countUnclaimed(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(countEvery):
		}
		if r.kinds.Filled() {
			r.unclaimed.Look()
		}
		if !r.works.HubSynced() {
			continue
		}
		r.lookAtPastKinds(ctx)
		if !r.unclaimed.Due() {
			continue
		}
		if err := r.recountUnclaimed(ctx); err != nil {
			r.unclaimed.Look()
			ctrl.LoggerFrom(ctx).V(1).Info("Could not count the unclaimed objects", "reason", err.Error())
		}
	}
}

// recountUnclaimed goes through all managed objects once.
func (r *Reconciler) recountUnclaimed(ctx context.Context) error {
	found, counted, kinds := map[types.NamespacedName][]*unstructured.Unstructured{}, map[types.UID]struct{}{}, map[schema.GroupVersionKind]struct{}{}
	watched := slices.DeleteFunc(r.works.Watched(), r.isUnseen) // before Each: objects of other Works may not be seen yet
	shown := r.kinds.Shown(pastWork())
	var failed error
	r.kinds.Each(func(obj *unstructured.Unstructured) {
		owner, ok := r.ownWork(obj)
		if !ok || obj.GetDeletionTimestamp() != nil || failed != nil || r.outside(plan.ObjectOf(obj)) != nil {
			return
		}
		if _, again := counted[obj.GetUID()]; again {
			return // its kind is watched in several versions
		}
		claimed, err := r.claims(ctx, owner, plan.ObjectOf(obj))
		failed = err
		if !claimed {
			counted[obj.GetUID()] = struct{}{}
			found[owner] = append(found[owner], obj)
			kinds[obj.GroupVersionKind()] = struct{}{}
		}
	})
	if failed != nil {
		return failed
	}
	for _, event := range r.unclaimed.take(found) {
		ctrl.LoggerFrom(ctx).Info("Objects in the member are unclaimed", "reason", event.Note)
		r.events(event)
	}
	r.metrics.unclaimed.Set(float64(r.Unclaimed()))
	for _, absent := range watched {
		name := client.ObjectKeyFromObject(absent)
		if len(found[name]) > 0 {
			continue
		}
		work := &workv1alpha1.Work{}
		if err := r.works.hubClient.Get(ctx, name, work); !apierrors.IsNotFound(err) {
			continue // the hub has it again, so it must not be dropped here
		}
		// Nothing of the Work is left.
		r.works.Release(absent)
		r.journal.Remove(name)
		if err := r.kinds.Keep(ctx, name, nil); err != nil {
			return err
		}
	}
	return r.keepPastKinds(ctx, shown, kinds)
}

// isUnseen returns whether a Work may have objects in the member that the informers have not seen.
func (r *Reconciler) isUnseen(work *workv1alpha1.Work) bool {
	var namespaces []string
	for _, m := range plan.Parse(work) {
		namespaces = append(namespaces, m.Object.Namespace)
	}
	return !r.kinds.Whole(client.ObjectKeyFromObject(work), namespaces)
}

// claims returns whether a Work of the hub contains an object.
func (r *Reconciler) claims(ctx context.Context, owner types.NamespacedName, object plan.Object) (bool, error) {
	work := &workv1alpha1.Work{}
	err := r.works.hubClient.Get(ctx, owner, work)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading Work %q: %w", owner.Name, err)
	case !work.DeletionTimestamp.IsZero() && !contract.DeletesObjects(work.Annotations):
		return false, nil // counts as absent
	default:
		return r.memory.MayHave(owner, object), nil
	}
}

// take stores a count and returns the events to emit. An object that is found for the first time counts only if it is
// found again.
func (u *unclaimed) take(found map[types.NamespacedName][]*unstructured.Unstructured) []eventsink.Event {
	u.mu.Lock()
	defer u.mu.Unlock()
	suspects := map[types.UID]struct{}{}
	u.count = 0
	var events []eventsink.Event
	for work, objects := range found {
		names := make([]string, 0, len(objects))
		for _, obj := range objects {
			suspects[obj.GetUID()] = struct{}{}
			if _, known := u.suspects[obj.GetUID()]; known {
				names = append(names, plan.ObjectOf(obj).String())
			} else {
				u.changed = true
			}
		}
		u.count += len(names)
		slices.Sort(names)
		note := unclaimedNote(names)
		if len(names) == 0 || u.lastNotes[work] == note {
			continue
		}
		u.lastNotes[work] = note
		events = append(events, eventsink.Event{
			Regarding: workReference(work), Type: corev1.EventTypeWarning, Reason: reasonUnclaimed, Action: actionLookUp, Note: note,
		})
	}
	for work := range u.lastNotes {
		if len(found[work]) == 0 {
			delete(u.lastNotes, work)
		}
	}
	u.suspects = suspects
	return events
}

// unclaimedNote lists objects.
func unclaimedNote(names []string) string {
	return fmt.Sprintf("%d objects in the member name this Work, which is not on the hub or no longer has them: %s. "+
		"They stay as they are, and are claimed again when the Work has them; if nobody needs them, delete them in the member",
		len(names), prose.Names(names, namedObjects))
}
