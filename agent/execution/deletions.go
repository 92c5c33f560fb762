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
	"fairlead.dev/common/kube"
)

const (
	// defaultStuckAfter is how long an object may take to go before people are told.
	defaultStuckAfter = 30 * time.Second
	// lastLook bounds the delay between two looks at an object that does not go.
	lastLook = 5 * time.Minute
)

// pendingDeletions remembers the objects that were deleted for a Work until they are gone. If
// finalizers hold one, it is still there when its Work is not, and nobody would see it.
type pendingDeletions struct {
	mu      sync.Mutex
	objects map[types.UID]*departure
	// refusals are what people were told of objects that the member does not let go, or that stay in it.
	refusals map[plan.Object]toldRefusal
}

// toldRefusal is what people were told of one, and of which Work.
type toldRefusal struct {
	work types.NamespacedName
	uid  types.UID
	why  string
}

// departure is one such object.
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

// Add notes that an object is deleted.
func (l *pendingDeletions) Add(object plan.Object, uid types.UID, work types.NamespacedName, now time.Time, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.objects[uid]; !ok {
		l.objects[uid] = &departure{object: object, work: work, since: now, next: now.Add(after)}
	}
}

// Due returns the objects that it is time to look at.
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

// Stay notes that an object is still there. It says whether that is news.
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

// Gone forgets an object.
func (l *pendingDeletions) Gone(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, uid)
}

// Refused notes why an object of a Work does not go, and whether that is news.
func (l *pendingDeletions) Refused(work *workv1alpha1.Work, object plan.Object, why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := toldRefusal{work: client.ObjectKeyFromObject(work), uid: work.UID, why: why}
	fresh := l.refusals[object] != is
	l.refusals[object] = is
	return fresh
}

// Forget drops what people were told of the objects of a Work that the hub does not have any more.
func (l *pendingDeletions) Forget(work types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.refusals, func(_ plan.Object, of toldRefusal) bool { return of.work == work })
}

// Allowed notes that the member lets an object go.
func (l *pendingDeletions) Allowed(object plan.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.refusals, object)
}

// Stuck counts the objects of which people were told.
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

// watchDeletions looks after the objects that do not go, until the context ends.
func (r *Reconciler) watchDeletions(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(min(r.stuckAfter, time.Second)):
		}
		for uid, d := range r.pendingDeletions.Due(r.clock.Now()) {
			r.lookAfter(ctx, uid, d)
		}
	}
}

// lookAfter looks whether an object is gone by now, and tells if it is not.
func (r *Reconciler) lookAfter(ctx context.Context, uid types.UID, d departure) {
	live, err := readBy(ctx, r.reader, d.object)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil: // the member does not answer, or no longer knows the kind
		if result, _ := classify(d.object, err); result == plan.Waiting {
			r.pendingDeletions.Gone(uid)
		}
	case live == nil || live.GetUID() != uid || live.GetDeletionTimestamp() == nil:
		r.pendingDeletions.Gone(uid)
		if d.reported {
			ctrl.LoggerFrom(ctx).Info("An object is gone at last", "manifest", d.object.String())
		}
	case r.pendingDeletions.Stay(uid, r.clock.Now()):
		note := stuckNote(d.object, live)
		ctrl.LoggerFrom(ctx).Info("An object does not go", "manifest", d.object.String(), "reason", note)
		r.events(kube.Event{
			Regarding: workReference(d.work), Type: corev1.EventTypeWarning,
			Reason: reasonDeletionStuck, Action: actionDelete, Note: note,
		})
	}
	r.metrics.stuck.Set(float64(r.pendingDeletions.Stuck()))
}

// stuckNote says what holds an object.
func stuckNote(name plan.Object, live *unstructured.Unstructured) string {
	return fmt.Sprintf("%s was deleted from the member and is still there: its finalizers hold it (%s); see to the controllers that they name",
		name, strings.Join(live.GetFinalizers(), ", "))
}

// workReference names a Work that is gone, for events.
func workReference(work types.NamespacedName) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: workv1alpha1.GroupVersion.String(), Kind: "Work", Namespace: work.Namespace, Name: work.Name,
	}
}
