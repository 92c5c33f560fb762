package execution

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// quietWait is how long a Work waits untold for those that are in its Namespace or of its CustomResourceDefinition. What is
// deleted together on the hub ends within a moment, in any order.
const quietWait = 5 * time.Second

// mayGo says whether the objects of a Work may be deleted now. First, nothing that other Works have may go with a
// Namespace or a CustomResourceDefinition of it: they may want it still, or the member may refuse to delete it for them. Only then the brake counts: of what goes along, it has seen the Works that
// end as well.
func (r *Reconciler) mayGo(ctx context.Context, work *workv1alpha1.Work) (bool, error) {
	takes, err := r.takesAlong(ctx, work)
	if err != nil {
		return false, err
	}
	r.wake(r.waits.Over(client.ObjectKeyFromObject(work)))
	return r.pass(ctx, work, takes)
}

// takesAlong counts the objects of other Works, which do not end, that go with those of a Work because a person said that
// they may. It returns a wantedError if nobody did, or if Works that end have something there.
func (r *Reconciler) takesAlong(ctx context.Context, work *workv1alpha1.Work) (int, error) {
	if work.Annotations[contract.DeletionIntentAnnotation] == contract.DeletionEvicted { // that deletes no container
		return 0, nil
	}
	var containers []plan.Manifest
	for _, m := range plan.Ending(work) {
		if m.Problem == nil && plan.IsContainer(m.Object) {
			containers = append(containers, m)
		}
	}
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
		if len(plan.WantedIn(m, works, 1)) == 0 && len(plan.EndingIn(m, work, works, 1)) == 0 {
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

// await has a Work wait until no other has anything in one of its objects, and tells people once if that takes long.
func (r *Reconciler) await(ctx context.Context, work *workv1alpha1.Work, m plan.Manifest, works []workv1alpha1.Work) error {
	wanted := len(plan.WantedIn(m, works, 1)) > 0
	if wanted {
		r.brake.Reconsider(work.UID)
	}
	quiet := quietWait
	if !wanted { // these are being deleted
		quiet = r.stuckAfter
	}
	again, tell := r.waits.Begin(client.ObjectKeyFromObject(work), r.clock.Now(), quiet)
	if held, _ := r.brake.Condition(); !wanted && held.Status == metav1.ConditionTrue {
		tell = false // people were told what all of them wait for
	}
	if tell {
		note := plan.EndingMessage(m.Object, plan.EndingIn(m, work, works, math.MaxInt))
		if wanted {
			note = plan.WantedMessage(m.Object, plan.WantedIn(m, works, math.MaxInt))
		}
		ctrl.LoggerFrom(ctx).Info("Not deleting an object because of what other Works have in it", "manifest", m.Object.String(), "reason", note)
		r.events(kube.Event{Regarding: work, Type: corev1.EventTypeWarning, Reason: reasonContentsWanted, Action: actionDelete, Note: note})
	}
	return &wantedError{object: m.Object, again: again}
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

// waits are the Works that end and wait until no other has what would go with their objects.
type waits struct {
	mu    sync.Mutex
	works map[types.NamespacedName]*waiting
}

type waiting struct {
	since time.Time
	told  bool
}

func newWaits() *waits { return &waits{works: map[types.NamespacedName]*waiting{}} }

// Begin notes that a Work waits, untold for so long, and returns when to look again and whether people are to be told now.
func (w *waits) Begin(work types.NamespacedName, now time.Time, quiet time.Duration) (again time.Duration, tell bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.works[work]
	if one == nil {
		one = &waiting{since: now}
		w.works[work] = one
	}
	if left := quiet - now.Sub(one.since); left > 0 {
		return left, false
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
