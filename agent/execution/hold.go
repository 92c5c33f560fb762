package execution

import (
	"context"
	"fmt"
	"strings"
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

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// hold is that deletions are held.
type hold struct {
	// since names it.
	since   metav1.Time
	message string
	// approved says that an operator said that they may go. They go once the Cluster does not say any more that they are held.
	approved bool
}

// newHold returns one that begins now. Its name is none that an operator has said already: a second one may begin within the second of the
// first, or the clock have been put back since.
func newHold(now time.Time, said string, going, all int, limit *clusterv1alpha1.DeletionBrake) *hold {
	since := metav1.NewTime(now).Rfc3339Copy()
	if approval(since) == said {
		since = metav1.NewTime(since.Add(time.Second))
	}
	return &hold{since: since, message: heldMessage(since, going, all, limit)}
}

// holdOf returns the hold of which a Cluster says that it lasts; nil if it says so of none. An operator goes by the message, so that names
// it, if it does: agents of before left the time of one hold with the message of the next.
func holdOf(cluster *clusterv1alpha1.Cluster) *hold {
	if cluster == nil {
		return nil
	}
	c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	out := &hold{since: c.LastTransitionTime, message: c.Message}
	if _, rest, ok := strings.Cut(c.Message, contract.DeletionsApprovedAnnotation+"="); ok {
		word, _, _ := strings.Cut(rest, " ")
		if since, err := time.Parse(time.RFC3339, word); err == nil {
			out.since = metav1.NewTime(since)
		}
	}
	return out
}

// approval is the word that lets go on what is held since a time. It names the hold, so
// that it is good for no other.
func approval(since metav1.Time) string { return since.UTC().Format(time.RFC3339) }

func heldMessage(since metav1.Time, going, all int, limit *clusterv1alpha1.DeletionBrake) string {
	return fmt.Sprintf("%d of %d objects were to go within a minute, and the brake lets %d or %d %% go: nothing is deleted. "+
		"If it is meant, set the annotation %s=%s on this Cluster; if not, mend what asks for it on the hub first",
		going, all, limit.Objects, limit.Percent, contract.DeletionsApprovedAnnotation, approval(since))
}

// noteChange has whoever tells the hub look at Condition again, once if it has not looked since the last change.
func (b *brake) noteChange() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Held returns the condition about deletions that are held, and whether there is one.
func (r *Reconciler) Held() (metav1.Condition, bool) { return r.brake.Condition() }

// HeldChanged returns what has something to receive if what Held says changed. It is for one receiver, which looks at Held after that.
func (r *Reconciler) HeldChanged() <-chan struct{} { return r.brake.changed }

// pass says whether the brake lets the objects of a Work go now, and so many of other Works with them.
func (r *Reconciler) pass(ctx context.Context, work *workv1alpha1.Work, takes int) (bool, error) {
	before, _ := r.brake.Condition()
	ok, err := r.brake.Pass(work, takes, func() ([]workv1alpha1.Work, error) { return r.all(ctx) }, r.clock.Now())
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
	r.waits.Over(work)
	return r.recount(ctx)
}

// recount ends a hold that holds nothing any more, and takes the word of an operator for what is to be deleted when it is heard: it may be that
// nothing is, as after an agent ended when all had gone.
func (r *Reconciler) recount(ctx context.Context) error {
	if !r.works.HubSynced() || !r.brake.Idle() && !r.brake.Approving() {
		return nil
	}
	works, err := r.all(ctx)
	if err != nil {
		return fmt.Errorf("looking whether anything is still to be deleted: %w", err)
	}
	r.brake.Approve(works)
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

func (r *Reconciler) approved(queue workqueue.TypedRateLimitingInterface[reconcile.Request], works []types.NamespacedName) {
	for _, work := range works {
		kube.EnqueueLast(queue, reconcile.Request{NamespacedName: work})
	}
	r.metrics.held.Set(float64(r.brake.Waiting()))
}
