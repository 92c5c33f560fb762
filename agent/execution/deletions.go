package execution

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
)

const (
	// defaultStuckAfter is how long a deletion may take before it is reported.
	defaultStuckAfter = 30 * time.Second
	// lastLook bounds the delay between two checks of an object that does not disappear.
	lastLook = 5 * time.Minute
)

// pendingDeletions tracks the objects that were deleted for a Work until they are gone. If finalizers hold one, it
// outlives its Work, and nobody would notice.
type pendingDeletions struct {
	mu      sync.Mutex
	objects map[types.UID]*departure
	// changed says that the set changed since the journal last stored it, at keptAt, which is zero in an agent that
	// has just started.
	changed bool
	keptAt  time.Time
	// refusals are the reported reasons why objects were not deleted, or stay.
	refusals map[plan.Object]toldRefusal
}

// toldRefusal is such a report, and the Work it was about.
type toldRefusal struct {
	work types.NamespacedName
	uid  types.UID
	why  string
}

// departure is an object that was deleted but still exists.
type departure struct {
	object   plan.Object
	work     types.NamespacedName
	since    time.Time
	next     time.Time
	reported bool
}

func newPendingDeletions() *pendingDeletions {
	return &pendingDeletions{objects: map[types.UID]*departure{}, refusals: map[plan.Object]toldRefusal{}}
}

// Add records that an object was deleted.
func (l *pendingDeletions) Add(object plan.Object, uid types.UID, work types.NamespacedName, now time.Time, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.objects[uid]; !ok {
		l.objects[uid] = &departure{object: object, work: work, since: now, next: now.Add(after)}
		l.changed = true
	}
}

// Due returns the objects that are to be checked now.
func (l *pendingDeletions) Due(now time.Time) map[types.UID]departure {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[types.UID]departure{}
	for uid, d := range l.objects {
		if !now.Before(d.next) {
			out[uid] = *d
		}
	}
	return out
}

// Stay records that an object still exists. It returns whether to report that.
func (l *pendingDeletions) Stay(uid types.UID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.objects[uid]
	if !ok {
		return false
	}
	d.next = now.Add(min(max(now.Sub(d.since), time.Second), lastLook))
	fresh := !d.reported
	d.reported = true
	return fresh
}

// Gone removes an object.
func (l *pendingDeletions) Gone(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.objects[uid]; ok {
		delete(l.objects, uid)
		l.changed = true
	}
}

// Silent records that the member could not tell whether an object exists; object is its identity in a version that
// the member may serve.
func (l *pendingDeletions) Silent(uid types.UID, object plan.Object, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.objects[uid]; ok {
		d.object, d.next = object, now.Add(min(max(now.Sub(d.since), lookAgain), lastLook))
	}
}

// Refused records why an object of a Work is not deleted, and returns whether the reason is new.
func (l *pendingDeletions) Refused(work *workv1alpha1.Work, object plan.Object, why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := toldRefusal{work: client.ObjectKeyFromObject(work), uid: work.UID, why: why}
	fresh := l.refusals[object] != is
	l.refusals[object] = is
	return fresh
}

// Forget drops the reports about the objects of a Work that the hub no longer has.
func (l *pendingDeletions) Forget(work types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.refusals, func(_ plan.Object, of toldRefusal) bool { return of.work == work })
}

// Allowed records that the member accepted the deletion of an object.
func (l *pendingDeletions) Allowed(object plan.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.refusals, object)
}

// Stuck counts the objects that were reported.
func (l *pendingDeletions) Stuck() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, d := range l.objects {
		if d.reported {
			n++
		}
	}
	return n
}

// watchDeletions checks the objects that do not disappear, until the context ends.
func (r *Reconciler) watchDeletions(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			r.keepDeletions(true)
			return nil
		case <-r.clock.After(min(r.stuckAfter, time.Second)):
		}
		r.keepDeletions(false)
		for uid, d := range r.pendingDeletions.Due(r.clock.Now()) {
			r.lookAfter(ctx, uid, d)
		}
	}
}

// lookAfter checks whether an object is gone, and reports it if not.
func (r *Reconciler) lookAfter(ctx context.Context, uid types.UID, d departure) {
	live, err := readBy(ctx, r.reader, d.object)
	switch {
	case ctx.Err() != nil:
		return
	case unserved(err): // it may be served in another version, or the member has just started
		if object, served, failed := r.served(ctx, d.object); served || failed != nil {
			r.pendingDeletions.Silent(uid, object, r.clock.Now())
		} else {
			r.pendingDeletions.Gone(uid)
		}
	case err != nil:
		r.pendingDeletions.Silent(uid, d.object, r.clock.Now())
	case live == nil || live.GetUID() != uid || live.GetDeletionTimestamp() == nil:
		r.pendingDeletions.Gone(uid)
		if d.reported {
			ctrl.LoggerFrom(ctx).Info("An object that was being deleted is gone", "manifest", d.object.String())
		}
	case r.pendingDeletions.Stay(uid, r.clock.Now()):
		note := stuckNote(d.object, live)
		ctrl.LoggerFrom(ctx).Info("An object that was deleted is still there", "manifest", d.object.String(), "reason", note)
		r.events(eventsink.Event{
			Regarding: workReference(d.work), Type: corev1.EventTypeWarning,
			Reason: reasonDeletionStuck, Action: actionDelete, Note: note,
		})
	}
	r.metrics.stuck.Set(float64(r.pendingDeletions.Stuck()))
}

// stuckNote says what holds an object.
func stuckNote(name plan.Object, live *unstructured.Unstructured) string {
	return fmt.Sprintf("%s was deleted from the member and is still there: its finalizers hold it (%s); check the controllers that they name",
		name, strings.Join(live.GetFinalizers(), ", "))
}

// workReference refers to a Work that is gone, for events.
func workReference(work types.NamespacedName) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: workv1alpha1.GroupVersion.String(), Kind: "Work", Namespace: work.Namespace, Name: work.Name,
	}
}
