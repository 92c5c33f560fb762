package execution

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/agent/execution/plan"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// brakeWindow is for how long what was deleted counts.
const brakeWindow = time.Minute

// brake holds deletions when too many come together, until an operator says to go on. What
// it holds outlasts the process: the condition on the Cluster says so.
type brake struct {
	mu sync.Mutex
	// known says that the Cluster was heard; before, nothing is deleted.
	known bool
	// limit is nil if no Cluster is watched; then there is no brake.
	limit *clusterv1alpha1.DeletionBrake
	// word is what an operator said last.
	word string
	// gone is what was let go within the window.
	gone map[types.UID]departed
	// held is since when and why deletions are held; nil if they are not.
	held *hold
	// released says why they are not held any more, if they were before, by this process or
	// the one before: a reason of the condition.
	released string
	// approving says that what is to be deleted now may go; approved are these Works.
	approving bool
	approved  map[types.UID]struct{}
	// waiting are the Works that wait for an answer.
	waiting map[types.NamespacedName]struct{}
}

type departed struct {
	at      time.Time
	objects int
}

type hold struct {
	since   metav1.Time
	message string
}

func newBrake(watched bool) *brake {
	return &brake{
		known:    !watched,
		gone:     map[types.UID]departed{},
		approved: map[types.UID]struct{}{},
		waiting:  map[types.NamespacedName]struct{}{},
	}
}

// Pass says whether the objects of a Work may be deleted now. Works lists those of the
// member. If they may not, the Work is among those that Observe returns when they may.
func (b *brake) Pass(work *workv1alpha1.Work, works func() ([]workv1alpha1.Work, error), now time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	if b.known && plan.Off(b.limit) {
		return true, nil
	}
	if !b.known || b.held != nil {
		b.waiting[name] = struct{}{}
		return false, nil
	}
	list, err := works()
	if err != nil {
		return false, fmt.Errorf("counting what is to be deleted: %w", err)
	}
	if b.approving {
		b.approve(list)
	}
	if _, ok := b.approved[work.UID]; ok {
		return true, nil
	}
	if d, ok := b.gone[work.UID]; ok && now.Sub(d.at) < brakeWindow { // it could not be finished at once
		return true, nil
	}
	going, all := b.count(list, now)
	if plan.Brakes(b.limit, going, all) {
		since := metav1.NewTime(now).Rfc3339Copy()
		b.held = &hold{since: since, message: heldMessage(since, going, all, b.limit)}
		b.waiting[name] = struct{}{}
		return false, nil
	}
	b.gone[work.UID] = departed{at: now, objects: len(work.Spec.Workload.Manifests)}
	return true, nil
}

// approve notes that what is to be deleted may go.
func (b *brake) approve(works []workv1alpha1.Work) {
	b.approving = false
	clear(b.approved)
	for i := range works {
		if ends(&works[i]) {
			b.approved[works[i].UID] = struct{}{}
		}
	}
}

// ends says whether the hub deletes a Work, and means it.
func ends(work *workv1alpha1.Work) bool {
	return !work.DeletionTimestamp.IsZero() && contract.DeletionIntended(work.Annotations)
}

// count returns how many objects went within the window or are to go, and of how many.
func (b *brake) count(works []workv1alpha1.Work, now time.Time) (going, all int) {
	there := map[types.UID]struct{}{}
	for i := range works {
		n := len(works[i].Spec.Workload.Manifests)
		all += n
		there[works[i].UID] = struct{}{}
		_, approved := b.approved[works[i].UID]
		if deletes(works[i]) && !approved {
			going += n
		}
	}
	for uid, d := range b.gone {
		if now.Sub(d.at) >= brakeWindow {
			delete(b.gone, uid)
			continue
		}
		if _, ok := there[uid]; !ok {
			going += d.objects
			all += d.objects
		}
	}
	return going, all
}

// Observe takes over what the Cluster says, nil if there is none, and returns the Works to
// look at again.
func (b *brake) Observe(cluster *clusterv1alpha1.Cluster) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.known
	b.known = true
	b.limit, b.word = plan.Limit(nil), ""
	if cluster != nil {
		b.limit, b.word = plan.Limit(cluster.Spec.DeletionBrake), cluster.Annotations[contract.DeletionsApprovedAnnotation]
		if c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld); first && c != nil && c.Status == metav1.ConditionTrue {
			b.held = &hold{since: c.LastTransitionTime, message: c.Message} // by the process before this one
		}
	}
	if b.held != nil {
		if b.word != approval(b.held.since) && !plan.Off(b.limit) {
			return nil
		}
		b.held, b.released, b.approving = nil, clusterv1alpha1.ReasonDeletionsApproved, true
		clear(b.gone)
	}
	waiting := make([]types.NamespacedName, 0, len(b.waiting))
	for name := range b.waiting {
		waiting = append(waiting, name)
	}
	clear(b.waiting)
	return waiting
}

// Condition returns what is to be said of it on the Cluster, and whether there is anything
// to say.
func (b *brake) Condition() (metav1.Condition, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.held != nil:
		return metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue,
			Reason: clusterv1alpha1.ReasonTooManyDeletions, Message: b.held.message, LastTransitionTime: b.held.since,
		}, true
	case b.released != "":
		message := "What was to be deleted was approved, or the brake was taken off"
		if b.released == clusterv1alpha1.ReasonDeletionsWithdrawn {
			message = "Nothing of what was to be deleted is to be deleted any more"
		}
		return metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionFalse, Reason: b.released, Message: message,
		}, true
	default:
		return metav1.Condition{}, false
	}
}

// Forget notes that a Work waits no more.
func (b *brake) Forget(work types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, work)
}

// Idle says whether deletions are held, but no Work is known to wait for an answer.
func (b *brake) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil && len(b.waiting) == 0
}

// Withdraw ends a hold if of all Works of the member, which are given, none is to be deleted
// any more: whoever wanted that took it back. As long as one is left it holds, be it a single
// one: who takes back many does it one by one. It says whether it ended the hold.
func (b *brake) Withdraw(works []workv1alpha1.Work) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil || len(b.waiting) > 0 || slices.ContainsFunc(works, deletes) {
		return false
	}
	b.held, b.released = nil, clusterv1alpha1.ReasonDeletionsWithdrawn
	return true
}

// deletes says whether the objects of a Work are to be deleted.
func deletes(work workv1alpha1.Work) bool {
	return ends(&work) && !ptrTrue(work.Spec.PreserveResourcesOnDeletion)
}

// Waiting counts the Works that wait.
func (b *brake) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// approval is the word that lets go on what is held since a time. It names the hold, so
// that it is good for no other.
func approval(since metav1.Time) string { return since.UTC().Format(time.RFC3339) }

func heldMessage(since metav1.Time, going, all int, limit *clusterv1alpha1.DeletionBrake) string {
	return fmt.Sprintf("%d of %d objects were to go within a minute, and the brake lets %d or %d %% go: nothing is deleted. "+
		"If it is meant, set the annotation %s=%s on this Cluster; if not, mend what asks for it on the hub first",
		going, all, limit.Objects, limit.Percent, contract.DeletionsApprovedAnnotation, approval(since))
}

// Held returns the condition about deletions that are held, and whether there is one.
func (r *Reconciler) Held() (metav1.Condition, bool) { return r.brake.Condition() }

// pass says whether the objects of a Work may be deleted now.
func (r *Reconciler) pass(ctx context.Context, work *workv1alpha1.Work) (bool, error) {
	before, _ := r.brake.Condition()
	ok, err := r.brake.Pass(work, func() ([]workv1alpha1.Work, error) { return r.all(ctx) }, r.clock.Now())
	r.metrics.held.Set(float64(r.brake.Waiting()))
	if held, _ := r.brake.Condition(); held.Status == metav1.ConditionTrue && before.Status != metav1.ConditionTrue {
		ctrl.LoggerFrom(ctx).Info("Holding deletions until an operator says to go on", "reason", held.Message)
	}
	return ok, err
}

// all returns the Works of the member, as the hub shows them. They are shared with the cache:
// nobody may change them.
func (r *Reconciler) all(ctx context.Context) ([]workv1alpha1.Work, error) {
	list := &workv1alpha1.WorkList{}
	err := r.hubClient.List(ctx, list, client.InNamespace(r.namespace), client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// waitsNoMore notes that a Work is not to be deleted, or is gone.
func (r *Reconciler) waitsNoMore(ctx context.Context, work types.NamespacedName) error {
	r.brake.Forget(work)
	return r.recount(ctx)
}

// recount ends a hold that holds nothing any more.
func (r *Reconciler) recount(ctx context.Context) error {
	if !r.works.HubSynced() || !r.brake.Idle() {
		return nil
	}
	works, err := r.all(ctx)
	if err != nil {
		return fmt.Errorf("looking whether anything is still to be deleted: %w", err)
	}
	if r.brake.Withdraw(works) {
		ctrl.LoggerFrom(ctx).Info("Holding no deletions any more, since all of them were withdrawn")
	}
	r.metrics.held.Set(float64(r.brake.Waiting()))
	return nil
}

// clusterSource hears what the Cluster says of deletions. It does not wait for the hub.
func (r *Reconciler) clusterSource(c cache.Cache, name string) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := c.GetInformer(ctx, &clusterv1alpha1.Cluster{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching the Cluster: %w", err)
		}
		hear := func(obj any) {
			if cluster, ok := obj.(*clusterv1alpha1.Cluster); ok && cluster.Name == name {
				r.approved(queue, r.brake.Observe(cluster))
				r.tryRecount(ctx)
			}
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    hear,
			UpdateFunc: func(_, obj any) { hear(obj) },
		})
		if err != nil {
			return fmt.Errorf("watching the Cluster: %w", err)
		}
		go func() {
			select {
			case <-ctx.Done():
			case <-registration.HasSyncedChecker().Done():
				if !r.brake.Known() { // there is no such Cluster
					r.approved(queue, r.brake.Observe(nil))
				}
			}
		}()
		return nil
	})
}

// tryRecount does so where there is nobody to try it again. The next change of the Cluster, or
// of a Work that waits, will.
func (r *Reconciler) tryRecount(ctx context.Context) {
	if err := r.recount(ctx); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Could not count what is to be deleted", "reason", err.Error())
	}
}

// Known says whether the Cluster was heard.
func (b *brake) Known() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known
}

func (r *Reconciler) approved(queue workqueue.TypedRateLimitingInterface[reconcile.Request], works []types.NamespacedName) {
	for _, work := range works {
		kube.EnqueueLast(queue, reconcile.Request{NamespacedName: work})
	}
	r.metrics.held.Set(float64(r.brake.Waiting()))
}
