package execution

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
)

// quietWait is how long a Work silently waits for Works that want objects in its Namespace or of its
// CustomResourceDefinition, and the interval of its checks meanwhile. Works that are deleted together on the hub end
// within a moment, in any order.
const quietWait = 5 * time.Second

// mayGo returns whether the objects of a Work may be deleted now. First, nothing that other Works still want may be
// deleted along with a Namespace or a CustomResourceDefinition of it. Only then the brake counts; the other ending
// Works it has counted themselves. Objects that those have in the container are deleted first, for which awaitFirst
// waits.
func (r *Reconciler) mayGo(ctx context.Context, work *workv1alpha1.Work) (bool, error) {
	containers := r.deletedContainers(work)
	name := client.ObjectKeyFromObject(work)
	if slices.ContainsFunc(containers, func(m plan.Manifest) bool { return !m.DeleteContents }) {
		r.waits.Begin(name, r.clock.Now()) // before the check, so that a Work that ends meanwhile wakes this one
	}
	takes, err := r.takesAlong(ctx, work, containers)
	if err != nil {
		return false, err
	}
	ok, err := r.pass(ctx, work, takes)
	if err == nil && !ok {
		r.waits.Over(name) // it waits for an operator, as reported; afterwards its wait for other Works starts over
	}
	return ok, err
}

// deletedContainers returns the containers of an ending Work that are deleted with it.
func (r *Reconciler) deletedContainers(work *workv1alpha1.Work) []plan.Manifest {
	if work.Annotations[contract.DeletionIntentAnnotation] == contract.DeletionEvicted {
		return nil
	}
	return slices.DeleteFunc(plan.Ending(work), func(m plan.Manifest) bool {
		return m.Problem != nil || !plan.IsContainer(m.Object) || r.outside(m.Object) != nil
	})
}

// takesAlong counts the objects of other Works, which do not end, that are deleted along with the containers of a
// Work because a person allowed that. It returns a wantedError if nobody did.
func (r *Reconciler) takesAlong(ctx context.Context, work *workv1alpha1.Work, containers []plan.Manifest) (int, error) {
	if len(containers) == 0 {
		return 0, nil
	}
	works, err := r.all(ctx)
	if err != nil {
		return 0, fmt.Errorf("looking which Works still want what is in the objects of Work %q: %w", work.Name, err)
	}
	takes := 0
	for _, m := range containers {
		if m.DeleteContents {
			takes += len(plan.WantedIn(m, works, math.MaxInt))
			continue
		}
		if len(plan.WantedIn(m, works, 1)) == 0 {
			continue
		}
		container, err := readBy(ctx, r.reader, m.Object)
		if err != nil {
			return 0, fmt.Errorf("reading %s from the member: %w", m.Object, err)
		}
		if container != nil && plan.Deletable(container, client.ObjectKeyFromObject(work)) { // otherwise nobody deletes it
			return 0, r.await(ctx, work, m, works)
		}
	}
	return takes, nil
}

// await makes a Work wait until nobody wants what is in one of its objects, and reports that once if it takes long.
func (r *Reconciler) await(ctx context.Context, work *workv1alpha1.Work, m plan.Manifest, works []workv1alpha1.Work) error {
	r.brake.Reconsider(work.UID)
	return r.waitTold(ctx, work, m.Object, quietWait, func() string { return plan.WantedMessage(m.Object, plan.WantedIn(m, works, math.MaxInt)) })
}

// awaitFirst makes a Work wait until an object has been deleted that must go before one of its own, and reports that
// once if it takes long: the member may refuse the deletion.
func (r *Reconciler) awaitFirst(ctx context.Context, work *workv1alpha1.Work, first *endsFirstError) error {
	return r.waitTold(ctx, work, first.in, r.stuckAfter, func() string {
		other := plan.Wanted{Object: first.object, Work: first.work}
		if first.rights {
			return plan.RightsMessage(first.in, other)
		}
		return plan.FirstMessage(first.in, other)
	})
}

// waitTold makes a Work wait because of objects of others in one of its own, and reports why once if it takes longer
// than quiet.
func (r *Reconciler) waitTold(ctx context.Context, work *workv1alpha1.Work, object plan.Object, quiet time.Duration, why func() string) error {
	again, tell := r.waits.Still(client.ObjectKeyFromObject(work), r.clock.Now(), quiet)
	if tell {
		note := why()
		ctrl.LoggerFrom(ctx).Info("Not deleting an object, because other Works need it", "manifest", object.String(), "reason", note)
		r.events(eventsink.Event{Regarding: work, Type: corev1.EventTypeWarning, Reason: reasonContentsWanted, Action: actionDelete, Note: note})
	}
	return &wantedError{object: object, again: again}
}

// wantedError says that a Work does not end yet, because other Works have something in one of its objects.
type wantedError struct {
	object plan.Object
	// again is when to check again, unless one of the others ends before.
	again time.Duration
}

// Error implements error.
func (e *wantedError) Error() string {
	return fmt.Sprintf("other Works still have something that keeps %s", e.object)
}

// spareWanted fails if other Works want what would be deleted along with an object. For an ending Work that was
// checked before, but others may have arrived since; for an object that is created again this is the only check.
func (r *Reconciler) spareWanted(ctx context.Context, m plan.Manifest) error {
	if r.works == nil || !plan.IsContainer(m.Object) || m.DeleteContents { // a sweep ends all Works
		return nil
	}
	works, err := r.all(ctx)
	if err != nil {
		return fmt.Errorf("looking which Works still want what is in %s: %w", m.Object, err)
	}
	if wanted := plan.WantedIn(m, works, math.MaxInt); len(wanted) > 0 {
		return errors.New(plan.WantedMessage(m.Object, wanted))
	}
	return nil
}

// waits are the ending Works that wait until no other Work has what would be deleted along with their objects, or are
// checking that. A Work stays among them until it has ended.
type waits struct {
	mu    sync.Mutex
	works map[types.NamespacedName]*waiting
}

type waiting struct {
	since time.Time
	told  bool
}

func newWaits() *waits { return &waits{works: map[types.NamespacedName]*waiting{}} }

// Begin records that a Work may have to wait.
func (w *waits) Begin(work types.NamespacedName, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.works[work] == nil {
		w.works[work] = &waiting{since: now}
	}
}

// Still records that a Work waits, and returns when to check again and whether to report the wait now, which is after
// quiet.
func (w *waits) Still(work types.NamespacedName, now time.Time, quiet time.Duration) (again time.Duration, tell bool) {
	w.Begin(work, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.works[work]
	if left := quiet - now.Sub(one.since); left > 0 {
		return min(left, quietWait), false
	}
	tell, one.told = !one.told, true
	return lastRetry, tell
}

// Over records that a Work does not wait, and returns those that do: they may have waited for it.
func (w *waits) Over(work types.NamespacedName) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.works, work)
	out := make([]types.NamespacedName, 0, len(w.works))
	for name := range w.works {
		out = append(out, name)
	}
	return out
}
