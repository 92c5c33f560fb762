package execution

import (
	"context"
	"fmt"

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
	"fairlead.dev/common/kube"
)

// noteChange signals that Condition changed, once until the receiver has looked.
func (b *brake) noteChange() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Held returns the condition about held deletions, and whether there is one.
func (r *Reconciler) Held() (metav1.Condition, bool) { return r.brake.Condition() }

// HeldChanged returns a channel that receives a value when the result of Held changed. It is for one receiver, which
// calls Held afterwards.
func (r *Reconciler) HeldChanged() <-chan struct{} { return r.brake.changed }

// pass returns whether the brake allows deleting the objects of a Work now, together with takes objects of other
// Works.
func (r *Reconciler) pass(ctx context.Context, work *workv1alpha1.Work, takes int) (bool, error) {
	before, _ := r.brake.Condition()
	ok, err := r.brake.Pass(work, takes, func() ([]workv1alpha1.Work, error) { return r.all(ctx) }, r.clock.Now())
	r.metrics.held.Set(float64(r.brake.Waiting()))
	if held, _ := r.brake.Condition(); held.Status == metav1.ConditionTrue && before.Status != metav1.ConditionTrue {
		ctrl.LoggerFrom(ctx).Info("Holding deletions until an operator says to go on", "reason", held.Message)
	}
	return ok, err
}

// all returns the Works of the member as the cache shows them. They are shared with the cache and must not be
// changed.
func (r *Reconciler) all(ctx context.Context) ([]workv1alpha1.Work, error) {
	list := &workv1alpha1.WorkList{}
	err := r.hubClient.List(ctx, list, client.InNamespace(r.namespace), client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// waitsNoMore records that a Work is not to be deleted, or is gone.
func (r *Reconciler) waitsNoMore(ctx context.Context, work types.NamespacedName) error {
	r.brake.Forget(work)
	r.waits.Over(work)
	return r.recount(ctx)
}

// recount ends a hold without held deletions, and compares a hold of a previous agent with its message.
func (r *Reconciler) recount(ctx context.Context) error {
	if !r.works.HubSynced() || !r.brake.Idle() && !r.brake.IsFound() {
		return nil
	}
	return r.countHeld(ctx)
}

// countHeld compares what is to be deleted with the message of the hold, and ends a hold without held deletions.
func (r *Reconciler) countHeld(ctx context.Context) error {
	works, err := r.all(ctx)
	if err != nil {
		return fmt.Errorf("looking what is still to be deleted: %w", err)
	}
	if r.brake.Recount(works, r.clock.Now()) {
		held, _ := r.brake.Condition()
		ctrl.LoggerFrom(ctx).Info("Holding more deletions than the Cluster reported", "reason", held.Message)
	}
	if r.brake.Withdraw(works) {
		ctrl.LoggerFrom(ctx).Info("No longer holding deletions, because all of them were withdrawn")
	}
	r.metrics.held.Set(float64(r.brake.Waiting()))
	return nil
}

// watchHold recounts held deletions after changes, at most once a second, until the context ends.
func (r *Reconciler) watchHold(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(countEvery):
		}
		if !r.works.HubSynced() || !r.brake.IsUncounted() {
			continue
		}
		if err := r.countHeld(ctx); err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Could not count the objects to be deleted", "reason", err.Error())
		}
	}
}

// clusterSource watches the Cluster for the brake and for approvals. It does not wait for the hub.
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

// tryRecount recounts without a retry: the next change of the Cluster, or of a waiting Work, triggers another.
func (r *Reconciler) tryRecount(ctx context.Context) {
	if err := r.recount(ctx); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Could not count the objects to be deleted", "reason", err.Error())
	}
}

func (r *Reconciler) approved(queue workqueue.TypedRateLimitingInterface[reconcile.Request], works []types.NamespacedName) {
	for _, work := range works {
		kube.EnqueueLast(queue, reconcile.Request{NamespacedName: work})
	}
	r.metrics.held.Set(float64(r.brake.Waiting()))
}
