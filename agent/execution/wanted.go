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
	"fairlead.dev/common/kube"
)

// quietWait is how long a Work waits untold for those that want what is in its Namespace or of its CustomResourceDefinition, and after
// which it looks again while it is untold. What is deleted together on the hub ends within a moment, in any order.
const quietWait = 5 * time.Second

// mayGo says whether the objects of a Work may be deleted now. First, nothing that other Works still want may go with a
// Namespace or a CustomResourceDefinition of it. Only then the brake counts: of what goes along, it has seen the Works that
// end as well. What these have in it is deleted first, which awaitFirst sees to.
func (r *Reconciler) mayGo(ctx context.Context, work *workv1alpha1.Work) (bool, error) {
	containers := deletedContainers(work)
	name := client.ObjectKeyFromObject(work)
	if slices.ContainsFunc(containers, func(m plan.Manifest) bool { return !m.DeleteContents }) {
		r.waits.Begin(name, r.clock.Now()) // before anything is looked at: a Work that ends meanwhile has this one look again
	}
	takes, err := r.takesAlong(ctx, work, containers)
	if err != nil {
		return false, err
	}
	ok, err := r.pass(ctx, work, takes)
	if err == nil && !ok {
		r.waits.Over(name) // it waits for an operator: people were told, and after that it waits for the others anew
	}
	return ok, err
}

// deletedContainers returns those of a Work that ends which are deleted for it.
func deletedContainers(work *workv1alpha1.Work) []plan.Manifest {
	if work.Annotations[contract.DeletionIntentAnnotation] == contract.DeletionEvicted {
		return nil
	}
	return slices.DeleteFunc(plan.Ending(work), func(m plan.Manifest) bool { return m.Problem != nil || !plan.IsContainer(m.Object) })
}

// takesAlong counts the objects of other Works, which do not end, that go with the containers of a Work because a person said that
// they may. It returns a wantedError if nobody did.
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
		if container != nil && plan.Deletable(container, client.ObjectKeyFromObject(work)) { // nobody deletes another
			return 0, r.await(ctx, work, m, works)
		}
	}
	return takes, nil
}

// await has a Work wait until nobody wants what is in one of its objects, and tells people once if that takes long.
func (r *Reconciler) await(ctx context.Context, work *workv1alpha1.Work, m plan.Manifest, works []workv1alpha1.Work) error {
	r.brake.Reconsider(work.UID)
	return r.waitTold(ctx, work, m.Object, quietWait, func() string { return plan.WantedMessage(m.Object, plan.WantedIn(m, works, math.MaxInt)) })
}

// awaitFirst has a Work wait until what is to be deleted before one of its objects is, and tells people once if that takes long: the member may
// refuse it.
func (r *Reconciler) awaitFirst(ctx context.Context, work *workv1alpha1.Work, first *endsFirstError) error {
	return r.waitTold(ctx, work, first.in, r.stuckAfter, func() string {
		return plan.FirstMessage(first.in, plan.Wanted{Object: first.object, Work: first.work})
	})
}

// waitTold has a Work wait because of what others have in one of its objects, and tells people why once if that takes longer than is quiet.
func (r *Reconciler) waitTold(ctx context.Context, work *workv1alpha1.Work, object plan.Object, quiet time.Duration, why func() string) error {
	again, tell := r.waits.Still(client.ObjectKeyFromObject(work), r.clock.Now(), quiet)
	if tell {
		note := why()
		ctrl.LoggerFrom(ctx).Info("Not deleting an object because of what other Works have in it", "manifest", object.String(), "reason", note)
		r.events(kube.Event{Regarding: work, Type: corev1.EventTypeWarning, Reason: reasonContentsWanted, Action: actionDelete, Note: note})
	}
	return &wantedError{object: object, again: again}
}

// wantedError says that a Work does not end yet, since other Works have something in one of its objects.
type wantedError struct {
	object plan.Object
	// again is when to look again, if none of the others ends before.
	again time.Duration
}

// Error implements error.
func (e *wantedError) Error() string {
	return fmt.Sprintf("other Works still have something in %s", e.object)
}

// spareWanted fails if other Works want what would go with an object that is about to be deleted. Of a Work that ends that was
// looked at before, and others may have come since; an object that is only made anew is looked at here alone.
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

// waits are the Works that end and wait until no other has what would go with their objects, or look whether one has. One is among them until it
// has ended.
type waits struct {
	mu    sync.Mutex
	works map[types.NamespacedName]*waiting
}

type waiting struct {
	since time.Time
	told  bool
}

func newWaits() *waits { return &waits{works: map[types.NamespacedName]*waiting{}} }

// Begin notes that a Work may have to wait.
func (w *waits) Begin(work types.NamespacedName, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.works[work] == nil {
		w.works[work] = &waiting{since: now}
	}
}

// Still notes that a Work waits, untold for so long, and returns when to look again and whether people are to be told now.
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

// Over notes that a Work does not wait, and returns those that do: it may be what they wait for.
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
