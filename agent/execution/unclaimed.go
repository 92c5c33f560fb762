package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

const (
	// countEvery is how often it is counted what nobody claims, if something changed.
	countEvery = time.Second
	// namedObjects is how many objects an event names.
	namedObjects = 10
)

// unclaimed are the objects in the member that name a Work of ours which the hub does not
// have, or which no longer contains them. They stay as they are; people are told.
type unclaimed struct {
	mu sync.Mutex
	// changed says that something happened since they were last counted.
	changed bool
	// suspects are those that were found for the first time: a Work may be on its way.
	suspects map[types.UID]struct{}
	// lastNotes are what people were told, by Work.
	lastNotes map[types.NamespacedName]string
	count     int
}

func newUnclaimed() *unclaimed {
	return &unclaimed{suspects: map[types.UID]struct{}{}, lastNotes: map[types.NamespacedName]string{}}
}

// Look asks for a count.
func (u *unclaimed) Look() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed = true
}

// Due says whether there is something to count.
func (u *unclaimed) Due() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	due := u.changed
	u.changed = false
	return due
}

// Unclaimed counts the objects in the member that no Work of the hub claims.
func (r *Reconciler) Unclaimed() int {
	r.unclaimed.mu.Lock()
	defer r.unclaimed.mu.Unlock()
	return r.unclaimed.count
}

// absent deals with a Work that the hub does not have, or did not have when it was last heard. That says nothing about its
// objects: they stay, and are watched, so that they can be reported.
func (r *Reconciler) absent(ctx context.Context, req reconcile.Request, last *workv1alpha1.Work) error {
	r.pendingDeletions.Forget(req.NamespacedName)
	if last == nil {
		return r.forget(ctx, req)
	}
	r.journal.Absent(last) // what it cannot write it tries again, and the hub has nothing to hold until then
	r.backoff.Forget(req)
	r.prerequisites.Forget(req.NamespacedName)
	r.memory.Forget(req.NamespacedName)
	r.wake(r.waits.Over(req.NamespacedName))
	if err := r.waitsNoMore(ctx, req.NamespacedName); err != nil {
		return err
	}
	for _, m := range plan.Parse(last) {
		if m.Problem != nil {
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

// countUnclaimed counts what nobody claims, whenever something changed, until the context ends.
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
		if !r.works.HubSynced() || !r.unclaimed.Due() {
			continue
		}
		if err := r.recountUnclaimed(ctx); err != nil {
			r.unclaimed.Look()
			ctrl.LoggerFrom(ctx).V(1).Info("Could not count what nobody claims", "reason", err.Error())
		}
	}
}

// recountUnclaimed goes through all managed objects once.
func (r *Reconciler) recountUnclaimed(ctx context.Context) error {
	found, counted := map[types.NamespacedName][]*unstructured.Unstructured{}, map[types.UID]struct{}{}
	watched := slices.DeleteFunc(r.works.Watched(), r.isUnseen) // before: what is not watched yet may have objects that are not seen
	var failed error
	r.kinds.Each(func(obj *unstructured.Unstructured) {
		owner, ok := r.ownWork(obj)
		if !ok || obj.GetDeletionTimestamp() != nil || failed != nil {
			return
		}
		if _, again := counted[obj.GetUID()]; again {
			return // its kind is watched in more versions than one
		}
		claimed, err := r.claims(ctx, owner, plan.ObjectOf(obj))
		failed = err
		if !claimed {
			counted[obj.GetUID()] = struct{}{}
			found[owner] = append(found[owner], obj)
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
			continue // the hub has it again: what is kept of it is no more for us to forget
		}
		// Nothing of it is left.
		r.works.Release(absent)
		r.journal.Remove(name)
		if err := r.kinds.Keep(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}

// isUnseen says whether a Work may have objects in the member that the informers have not seen.
func (r *Reconciler) isUnseen(work *workv1alpha1.Work) bool {
	var namespaces []string
	for _, m := range plan.Parse(work) {
		namespaces = append(namespaces, m.Object.Namespace)
	}
	return !r.kinds.Whole(client.ObjectKeyFromObject(work), namespaces)
}

// claims says whether a Work of the hub has an object.
func (r *Reconciler) claims(ctx context.Context, owner types.NamespacedName, object plan.Object) (bool, error) {
	work := &workv1alpha1.Work{}
	err := r.works.hubClient.Get(ctx, owner, work)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading Work %q: %w", owner.Name, err)
	case !work.DeletionTimestamp.IsZero() && !contract.DeletesObjects(work.Annotations):
		return false, nil // as good as absent
	default:
		return r.memory.MayHave(owner, object), nil
	}
}

// take takes over a count, and returns what is to be told. What was not there the last
// time is looked at once more before it counts.
func (u *unclaimed) take(found map[types.NamespacedName][]*unstructured.Unstructured) []kube.Event {
	u.mu.Lock()
	defer u.mu.Unlock()
	suspects := map[types.UID]struct{}{}
	u.count = 0
	var events []kube.Event
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
		events = append(events, kube.Event{
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

// unclaimedNote names objects.
func unclaimedNote(names []string) string {
	more := ""
	if len(names) > namedObjects {
		more = fmt.Sprintf(" and %d more", len(names)-namedObjects)
	}
	return fmt.Sprintf("%d objects in the member name this Work, which is not on the hub or no longer has them: %s%s. "+
		"They stay as they are; they are claimed again when the Work has them, and if nobody needs them, delete them in the member",
		len(names), strings.Join(names[:min(len(names), namedObjects)], ", "), more)
}
